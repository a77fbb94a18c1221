package fakes

// Idle is what of a script was to go wrong and never did in a session.
type Idle struct {
	// Faults of the overlay.
	Faults []Fault
	// Steps are the indexes in [Script.Model] of those none of whose failures a
	// request got.
	Steps []int
	// Answers are those none of whose failures a call got.
	Answers []AnswerAt
}

// An AnswerAt is an answer by its place: Script.Tools[Tool].Answers[Answer].
type AnswerAt struct{ Tool, Answer int }

// Idle gives what has struck nothing so far. A hang strikes when it is what a
// try gets, whether or not the loop lives to give the try up.
func (w *World) Idle() Idle {
	idle := Idle{Faults: w.NotFired()}
	for i := range w.steps {
		if s := &w.steps[i]; len(s.Failures) > 0 && !s.struck {
			idle.Steps = append(idle.Steps, s.index)
		}
	}
	for i := range w.tools {
		for j := range w.tools[i].answers {
			if a := &w.tools[i].answers[j]; len(a.Failures) > 0 && !a.struck {
				idle.Answers = append(idle.Answers, AnswerAt{i, j})
			}
		}
	}
	return idle
}
