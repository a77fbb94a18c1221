package watch

import (
	"cmp"
	"strconv"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/internal/outfile"
)

// shapesRest is how often the file of shapes is written.
const shapesRest = 10 * time.Second

// A shapeFile is what is written to the file of shapes.
type shapeFile struct {
	shaper  trajectories.Shaper
	closed  []byte // the lines of conversations that have ended
	dirty   bool   // the file is not as it should be
	written time.Time
}

// writeShapes writes the file of shapes, unless it was written since a time.
func (w *Watch) writeShapes(since time.Time) {
	w.seen.Lock()
	defer w.seen.Unlock()
	if w.o.Shapes == "" || !w.shapes.dirty || w.shapes.written.After(since) {
		return
	}
	w.shapes.dirty, w.shapes.written = false, time.Now()
	all := append([]byte{}, w.shapes.closed...)
	for _, c := range w.conversations {
		all = w.shape(all, c)
	}
	w.failed(outfile.Write(w.o.Shapes, all, 0o600))
}

// shape appends the line of a conversation. Its name is its number, or the hash of the
// header that names runs.
func (w *Watch) shape(lines []byte, c *conversation) []byte {
	if c.line == nil {
		run := w.shapes.shaper.Shape(c.trajectory())
		run.Name = cmp.Or(c.run, strconv.Itoa(c.number))
		c.line = run.Append(nil)
	}
	return append(lines, c.line...)
}
