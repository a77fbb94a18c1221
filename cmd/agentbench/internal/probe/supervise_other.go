//go:build !unix

package probe

import "errors"

type supervisee struct{ pid int }

var errUnsupported = errors.New("an agent cannot be supervised on this system")

func supervised([]string) (*supervisee, error) { return nil, errUnsupported }

func adopt()        {}
func sweep(int) int { return 0 }
func wake(int)      {}

func (*supervisee) wait() report       { return report{Error: errUnsupported.Error()} }
func (*supervisee) kill()              {}
func (*supervisee) left() []int        { return nil }
func (*supervisee) outside() []int     { return nil }
func (*supervisee) clear(map[int]bool) {}
