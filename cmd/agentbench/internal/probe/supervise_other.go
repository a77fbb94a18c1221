//go:build !unix

package probe

import "errors"

type supervisee struct{}

var errUnsupported = errors.New("an agent cannot be supervised on this system")

func supervised([]string) (*supervisee, error) { return nil, errUnsupported }

func (*supervisee) wait() report       { return report{Error: errUnsupported.Error()} }
func (*supervisee) kill()              {}
func (*supervisee) left() []int        { return nil }
func (*supervisee) outside() []int     { return nil }
func (*supervisee) clear(map[int]bool) {}
