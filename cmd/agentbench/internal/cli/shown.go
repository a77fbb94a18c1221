package cli

import "io"

// A shown output keeps the first error of writing to it, which who writes many
// lines looks at once, at the end.
type shownOutput struct {
	io.Writer
	err error
}

func (o *shownOutput) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}
