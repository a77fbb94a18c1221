package secrets

import "strings"

// ibanLengths lists how long the account numbers (IBAN) of a country are, with
// its code and the check digits.
var ibanLengths = func() map[string]int {
	lengths := map[string]int{}
	for length, countries := range map[int]string{
		15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK", 21: "CH HR LI LV",
		22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ DZ ES MD PK RO SA SE SK TN VG", 25: "LY PT ST", 26: "IS TR",
		27: "BF BI BJ CG CI CM DJ FR GR IT MC MG ML MR SM SN", 28: "AL AZ BY CY DO GT HN HU LB MZ NI PL SV", 29: "BR EG PS QA UA", 30: "JO KW MU YE",
		31: "MT SC", 32: "LC", 33: "RU"} {
		for _, c := range strings.Fields(countries) {
			lengths[c] = length
		}
	}
	return lengths
}()

// ibans finds international account numbers, in one piece or in groups of four,
// with the length of their country and right check digits.
func ibans(text string, found func(start, end int)) {
	for i := 0; i+4 <= len(text); i++ {
		if !isUpper(text[i]) || !isUpper(text[i+1]) || !isDigit(text[i+2]) || !isDigit(text[i+3]) || i > 0 && isWord(text[i-1]) {
			continue
		}
		if end := iban(text, i, ibanLengths[text[i:i+2]]); end > 0 {
			found(i, end)
			i = end - 1
		}
	}
}

// iban returns the end of the account number that begins at i, 0 if there is
// none. The remainder by 97 must be 1 after the first four characters are moved to
// the end and each letter becomes two digits, from A = 10 on.
func iban(text string, i, length int) (end int) {
	rest, head := 0, 0
	add := func(to int, c byte) int {
		if isDigit(c) {
			return (to*10 + int(c-'0')) % 97
		}
		return (to*100 + int(c-'A') + 10) % 97
	}
	spaced := length > 0 && i+4 < len(text) && text[i+4] == ' '
	for n := range length {
		if spaced && n > 0 && n%4 == 0 {
			if i == len(text) || text[i] != ' ' {
				return 0
			}
			i++
		}
		if i == len(text) || !isDigit(text[i]) && !isUpper(text[i]) {
			return 0
		}
		rest = add(rest, text[i])
		if n == 3 {
			head, rest = i-3, 0
		}
		i++
	}
	if length == 0 || i < len(text) && isWord(text[i]) {
		return 0
	}
	for _, c := range []byte(text[head : head+4]) {
		rest = add(rest, c)
	}
	if rest != 1 {
		return 0
	}
	return i
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
