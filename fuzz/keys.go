package fuzz

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// reorder writes a JSON object in its own order of keys, or with the keys of all of
// its objects in reverse. ok is false for any other text, and for objects that
// identity cannot read.
func reorder(text string, reverse bool) (out string, ok bool) {
	if _, plain := identity(text); !plain {
		return "", false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	t, err := d.Token()
	if err != nil || t != json.Delim('{') {
		return "", false
	}
	b, err := object(d, reverse)
	if err != nil {
		return "", false
	}
	if _, err := d.Token(); err != io.EOF {
		return "", false
	}
	return string(b), true
}

// object reads the members of an object after its brace.
func object(d *json.Decoder, reverse bool) ([]byte, error) {
	var members [][]byte
	for d.More() {
		key, err := value(d, reverse)
		if err != nil {
			return nil, err
		}
		v, err := value(d, reverse)
		if err != nil {
			return nil, err
		}
		members = append(members, slices.Concat(key, []byte(":"), v))
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if reverse {
		slices.Reverse(members)
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}")), nil
}

func array(d *json.Decoder, reverse bool) ([]byte, error) {
	var items [][]byte
	for d.More() {
		v, err := value(d, reverse)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]")), nil
}

// value reads and writes one value, or a key.
func value(d *json.Decoder, reverse bool) ([]byte, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return object(d, reverse)
	case json.Delim('['):
		return array(d, reverse)
	}
	return json.Marshal(t)
}
