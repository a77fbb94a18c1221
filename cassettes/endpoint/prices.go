package endpoint

import (
	_ "embed"
	"math"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Price is the price of a million tokens of a model, in nano-dollars: $2.50 is
// 2,500,000,000. So every price with up to nine decimals is exact.
type Price struct {
	In  int64 `json:"in"`  // for tokens read
	Out int64 `json:"out"` // for tokens written
}

// perTokens is the number of tokens that a price is for.
const perTokens = 1_000_000

// Cost returns the cost of tokens in nano-dollars, rounded half up. It counts
// negative numbers as 0, and returns [math.MaxInt64] if the cost is larger.
func (p Price) Cost(in, out int64) int64 {
	product := func(tokens, price int64) *big.Int {
		return new(big.Int).Mul(big.NewInt(max(tokens, 0)), big.NewInt(max(price, 0)))
	}
	sum := product(in, p.In)
	sum.Add(sum, product(out, p.Out)).Add(sum, big.NewInt(perTokens/2)).Quo(sum, big.NewInt(perTokens))
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return sum.Int64()
}

// Prices are the prices of models, by the beginnings of their names.
type Prices map[string]Price

// Find returns the price of a model: the one with the longest name that is a prefix
// of the model's name. After the prefix the model's name must end, or a new part
// must begin, as with "-" or ":". So gpt-5 fits gpt-5-2025-08-07, but not gpt-5.1.
func (p Prices) Find(model string) (price Price, known bool) {
	found := ""
	for name, its := range p {
		if rest, ok := strings.CutPrefix(model, name); ok && newPart(rest) && len(name) > len(found) {
			found, price, known = name, its, true
		}
	}
	return price, known
}

func newPart(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

//go:embed prices.yaml
var defaultPrices string

// DefaultPrices returns the embedded prices of some of OpenAI's models. The file
// prices.yaml names their source.
func DefaultPrices() Prices {
	prices, err := parsePrices("prices.yaml", defaultPrices)
	if err != nil {
		panic(err) // a test reads it
	}
	return prices
}

// maxPrices is the largest size of a file of prices, in bytes. The parser's time
// grows with the square of the size.
const maxPrices = 16 << 10

// ReadPrices reads a file of prices. They replace or extend the default prices:
//
//	gpt-4.1: {in: 2.00, out: 8.00} # dollars for a million tokens
//
// The error is of type [scenarios.Mistakes].
func ReadPrices(path string) (Prices, error) {
	text, err := readFile(path, maxPrices)
	if err != nil {
		return nil, err
	}
	read, err := parsePrices(path, text)
	if err != nil {
		return nil, err
	}
	prices := DefaultPrices()
	for name, price := range read {
		prices[name] = price
	}
	return prices, nil
}
