package fuzz

// A Tally counts the runs of a kind of case. Each case is one run.
type Tally struct {
	Runs        int // all runs
	Survived    int // runs that kept every invariant; recoverable ones also ended as DONE
	Recoverable int // runs whose config can handle every failure
	Done        int // recoverable runs that ended as DONE
}

func (t *Tally) add(v *Checked) {
	t.Runs++
	if v.Violation == nil {
		t.Survived++
	}
	if v.Case.Recoverable {
		t.Recoverable++
	}
	if v.Done() {
		t.Done++
	}
}

// A Summary counts the checked cases of a campaign.
type Summary struct {
	All     Tally
	Attacks map[Attack]*Tally // a run counts for each of its attacks
	Calm    Tally             // runs without an attack
	Judged  map[Invariant]int // runs to which the invariant applies
	Broken  map[Invariant]int // runs that broke the invariant, and none before it
	// Failures holds the first run that broke each invariant, in order.
	Failures []*Checked
}

// NewSummary returns a summary without runs.
func NewSummary() *Summary {
	s := &Summary{Attacks: map[Attack]*Tally{}, Judged: map[Invariant]int{}, Broken: map[Invariant]int{}}
	for _, a := range Attacks() {
		s.Attacks[a] = &Tally{}
	}
	return s
}

// Add counts one case.
func (s *Summary) Add(v *Checked) {
	s.All.add(v)
	for _, a := range v.Case.Attacks {
		s.Attacks[a].add(v)
	}
	if len(v.Case.Attacks) == 0 {
		s.Calm.add(v)
	}
	for i, name := range Invariants() {
		if v.Judged[i] {
			s.Judged[name]++
		}
	}
	if v.Violation == nil {
		return
	}
	if s.Broken[v.Violation.Invariant] == 0 {
		s.Failures = append(s.Failures, v)
	}
	s.Broken[v.Violation.Invariant]++
}

// A KindTally counts the runs with an attack, without any attack ("none"), or all
// runs ("all").
type KindTally struct {
	Kind string
	Tally
}

// Tallies returns a tally for each attack, for the runs without an attack, and for
// all runs.
func (s *Summary) Tallies() []KindTally {
	var all []KindTally
	for _, a := range Attacks() {
		all = append(all, KindTally{string(a), *s.Attacks[a]})
	}
	return append(all, KindTally{"none", s.Calm}, KindTally{"all", s.All})
}

// Gate is the least share of runs that must survive.
const Gate = 0.95

// Passed reports whether the campaign passes: no invariant except recovers is
// broken, and the share of runs that survive is at least [Gate].
func (s *Summary) Passed() bool {
	for name, n := range s.Broken {
		if n > 0 && name != Recovers {
			return false
		}
	}
	return float64(s.All.Survived) >= Gate*float64(s.All.Runs)
}
