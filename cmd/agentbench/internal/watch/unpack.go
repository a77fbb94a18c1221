package watch

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// unpackers decompress a body, by the word of Content-Encoding.
var unpackers = map[string]func(io.Reader) (io.Reader, error){
	"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"x-gzip":  func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"deflate": func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
	"br":      func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	"zstd": func(r io.Reader) (io.Reader, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBody))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
}

// unpacked returns a body without its encodings. Of a body that breaks off it returns
// what came before.
func unpacked(body []byte, encoding string) ([]byte, error) {
	if encoding == "" || len(body) == 0 {
		return body, nil
	}
	words := strings.Split(encoding, ",")
	for i := len(words) - 1; i >= 0; i-- { // the last one was applied last
		word := strings.ToLower(strings.TrimSpace(words[i]))
		if word == "identity" {
			continue
		}
		unpack := unpackers[word]
		if unpack == nil {
			return nil, fmt.Errorf("a body in the encoding %s", text.Quote(word, 40))
		}
		r, err := unpack(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("a body that is not %s", word)
		}
		body, _ = io.ReadAll(io.LimitReader(r, maxBody+1)) // what is before an error counts
		if c, ok := r.(io.Closer); ok {
			c.Close()
		}
		if len(body) > maxBody {
			return nil, errTooLong
		}
	}
	return body, nil
}

var errTooLong = errors.New("a body of more than 64 MiB")
