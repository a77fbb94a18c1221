package scenarios

// A Mistake is one thing that is wrong with a file.
type Mistake struct {
	File string
	// Line and Column count from one, columns in characters; 0 where the file as
	// a whole is meant.
	Line, Column int
	Problem      string // what is wrong
	Hint         string // how to mend it, "" = no idea
	Excerpt      string // the line, and a caret under the column; "" without one
}

// Mistakes are all that is wrong with some files, in the order of file, line
// and column.
type Mistakes []*Mistake

// Error gives the mistake as file:line:column: problem, the excerpt below it
// and a line that begins with hint.
func (m *Mistake) Error() string { return "" }

// Error gives all mistakes, one below the other.
func (ms Mistakes) Error() string { return "" }
