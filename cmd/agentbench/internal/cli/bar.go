package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A bar shows on a terminal how far the work is. A nil bar shows nothing.
type bar struct {
	w     io.Writer
	of    int
	drawn time.Time // last, or when the work began: what is done at once needs no bar
	shown bool
}

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond
)

// show draws the bar, unless it has just been drawn.
func (b *bar) show(done int) {
	if b == nil || b.of == 0 || time.Since(b.drawn) < barEvery {
		return
	}
	b.drawn, b.shown = time.Now(), true
	full := barWidth * done / b.of
	fmt.Fprintf(b.w, "\r\x1b[K%s%s %d of %d", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), done, b.of)
}

// clear takes the bar off the terminal.
func (b *bar) clear() {
	if b != nil && b.shown {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}
