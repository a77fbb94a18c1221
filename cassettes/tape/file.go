package tape

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/agentbench-go/agentbench/internal/infile"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/dnaeon/go-vcr/v2/cassette"
	"gopkg.in/yaml.v2"
)

const (
	comment = "# agentbench: "
	start   = "---\n"
	version = 1 // of go-vcr's files

	maxFile = 256 << 20
)

// A Cassette is an opened cassette.
type Cassette struct {
	Head []byte // the head, without a line break; nil = none
	tape *cassette.Cassette
}

// Open reads a cassette strictly. It fails if the file is cut, was changed after it
// was written, has anything that this package does not write, or has a secret; a
// nil r skips the search for secrets. The error names the file and the problem.
func Open(path string, r Redactor) (*Cassette, error) {
	data, err := readFile(path)
	if err == nil {
		var c *Cassette
		if c, err = read(data, r); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

func exists(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s: is not a regular file", path)
	}
	return true, nil
}

func readFile(path string) ([]byte, error) {
	f, err := infile.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("there is no such file")
		}
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return data, err
}

// mended says what to do about a broken cassette.
const mended = "restore it, or record it again with --record-mode rewrite"

// read parses and checks the bytes of a cassette.
func read(data []byte, r Redactor) (*Cassette, error) {
	body, count, err := verify(data)
	if err != nil {
		return nil, err
	}
	c := &Cassette{tape: &cassette.Cassette{}}
	if rest, ok := bytes.CutPrefix(body, []byte(comment)); ok {
		head, rest, _ := bytes.Cut(rest, []byte("\n"))
		c.Head, body = head, rest
	}
	if !bytes.HasPrefix(body, []byte(start)) {
		return nil, errors.New("it does not begin like a cassette: " + mended)
	}
	if err := yaml.UnmarshalStrict(body, c.tape); err != nil {
		return nil, fmt.Errorf("it is not a cassette of go-vcr version 1: %s", text.Line(err.Error()))
	}
	if c.tape.Version != version {
		return nil, fmt.Errorf("it has the version %d, and only version %d can be read", c.tape.Version, version)
	}
	if len(c.tape.Interactions) != count {
		return nil, fmt.Errorf("it has %d interactions, and its last line says %d: %s", len(c.tape.Interactions), count, mended)
	}
	if count == 0 {
		return nil, errors.New("nothing is recorded in it: " + mended)
	}
	if !fits(c.tape, len(data)) {
		return nil, errors.New("it has YAML aliases, which a cassette never has: " + mended)
	}
	for i, in := range c.tape.Interactions {
		if err := check(in, r); err != nil {
			return nil, fmt.Errorf("interaction %d: %w", i+1, err)
		}
	}
	if r != nil {
		if rule := r.Leftover(string(c.Head)); rule != "" {
			return nil, fmt.Errorf("its head has a secret (%s): record it again", rule)
		}
	}
	again, err := encode(c.Head, c.tape.Interactions)
	if err != nil || !sameButFolds(again, data) {
		return nil, errors.New("it has something that is not part of a cassette, such as a comment or a second document: " + mended)
	}
	return c, nil
}

// fits reports whether the texts of a cassette fit into the bytes of its file. If
// they do not, the file has YAML aliases, and a small file could make endless work.
func fits(c *cassette.Cassette, size int) bool {
	for _, in := range c.Interactions {
		if in == nil {
			continue
		}
		size -= len(in.URL) + len(in.Request.Body) + len(in.Response.Body) + len(in.Status)
		for _, headers := range []map[string][]string{in.Request.Headers, in.Response.Headers, in.Form} {
			for name, values := range headers {
				size -= len(name)
				for _, v := range values {
					size -= len(v)
				}
			}
		}
		if size < 0 {
			return false
		}
	}
	return true
}

// verify checks the last line. It returns the bytes before it and the number of
// interactions.
func verify(data []byte) (body []byte, count int, err error) {
	if len(data) == 0 {
		return nil, 0, errors.New("it is empty: " + mended)
	}
	at := bytes.LastIndex(data, []byte("\n"+comment+"interactions=")) + 1
	last := string(data[at:])
	body = data[:at]
	if at == 0 {
		return nil, 0, errors.New("its last line is missing, so it was cut off or is not a cassette of agentbench: " + mended)
	}
	var sum string
	if n, err := fmt.Sscanf(last, comment+"interactions=%d sha256=%64s\n", &count, &sum); n != 2 || err != nil || last != trailer(count, sum) {
		return nil, 0, errors.New("its last line is damaged: " + mended)
	}
	if sum != checksum(body) {
		return nil, 0, errors.New("it was changed after it was written, by hand or by a merge: " + mended)
	}
	return body, count, nil
}

func trailer(count int, sum string) string {
	return comment + "interactions=" + strconv.Itoa(count) + " sha256=" + sum + "\n"
}

func checksum(body []byte) string { return fmt.Sprintf("%x", sha256.Sum256(body)) }

// check checks one interaction.
func check(in *cassette.Interaction, r Redactor) error {
	switch {
	case in == nil:
		return errors.New("it is empty")
	case in.Method == "" || in.URL == "":
		return errors.New("it has no method or no URL")
	case in.Code < 100 || in.Code > noResponse:
		return fmt.Errorf("%d is not an HTTP status", in.Code)
	case in.Duration < 0:
		return errors.New("it ends before it begins")
	}
	if r == nil {
		return nil
	}
	for _, text := range texts(in) {
		if rule := r.Leftover(text); rule != "" {
			return fmt.Errorf("it has a secret (%s): record it again", rule)
		}
	}
	return nil
}

// texts returns all texts of an interaction.
func texts(in *cassette.Interaction) []string {
	all := []string{in.URL, in.Request.Body, in.Response.Body, in.Status}
	for _, headers := range []map[string][]string{in.Request.Headers, in.Response.Headers, in.Form} {
		for name, values := range headers {
			for _, v := range values {
				all = append(all, name+": "+v)
			}
		}
	}
	return all
}

// write writes a whole cassette or nothing. Only its owner can read a new file.
func write(path string, head []byte, all []*cassette.Interaction, r Redactor) error {
	if len(all) == 0 {
		return errors.New("nothing was recorded")
	}
	data, err := encode(head, all)
	if err != nil {
		return err
	}
	if _, err := read(data, r); err != nil {
		return fmt.Errorf("%s is not written: %w", path, err)
	}
	return outfile.Write(path, data, 0o600)
}

// encode returns the bytes of a cassette.
func encode(head []byte, all []*cassette.Interaction) ([]byte, error) {
	if bytes.ContainsAny(head, "\r\n") {
		return nil, errors.New("the head of a cassette must be one line")
	}
	text, err := unfolded(all)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if len(head) > 0 {
		fmt.Fprintf(&b, "%s%s\n", comment, head)
	}
	b.WriteString(start)
	b.Write(text)
	b.WriteString(trailer(len(all), checksum(b.Bytes())))
	return b.Bytes(), nil
}
