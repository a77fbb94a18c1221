package loop_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// A repetition is an endless one, as the replies of a toy world that come again and
// again.
type repetition struct{ name, replies string }

// repetitions returns those that a detector is meant to count: one call, however it
// ends, and for a cycle each of its lengths.
func repetitions(d *detect.Detector) (all []repetition) {
	each := func(prefix, suffix string) {
		for _, letter := range []string{"a", "A", "f", "F", "X", "U", "g", "e", "u", "j", "x", "0"} {
			if letter == "g" && slices.Contains(d.Reset, detect.OnResultChange) {
				continue // another result each time
			}
			all = append(all, repetition{prefix + letter, strings.Repeat(letter, max(1, len(suffix))) + " "})
		}
	}
	switch {
	case d.Match == detect.Cycle:
		from, to := d.Period.Min, d.Period.Max
		if to == 0 {
			from, to = 2, 2
		}
		for n := from; n <= to; n++ {
			// Of n different calls that succeed, or fail.
			all = append(all, repetition{fmt.Sprintf("a cycle of %d", n), "a b c y "[:2*n]}, repetition{fmt.Sprintf("failures in a cycle of %d", n), "f q h r "[:2*n]})
		}
	case d.Ends == detect.EndsBatch:
		each("batches of ", "1234567")
	default:
		each("", "")
	}
	return all
}

// acted plays a repetition, and returns the acts of the detector in order.
func acted(t *testing.T, d *detect.Detector, r repetition) (acts []detect.Act) {
	t.Helper()
	cfg := Off()
	cfg.Detectors = []detect.Detector{*d}
	const replies = 90
	world := newToy(strings.Repeat(r.replies, replies/strings.Count(r.replies, " ")))
	m, err := New(cfg, Task{Text: "go", Depth: 1, Schemas: fieldLists{}}, toyTools())
	if err != nil {
		t.Fatal(err)
	}
	goesOn := func(now time.Duration, e *Effect) []Input {
		in := world.answer(now, e)
		if e.Kind == AskUser {
			in[0].Allow = true
		}
		return in
	}
	for _, rec := range drive(t, m, goesOn) {
		act := detect.Act("") // the strongest of the record
		for i := range rec.Effects {
			switch e := &rec.Effects[i]; {
			case e.Kind == Note && e.Event == EventNudged:
				acts = append(acts, detect.Nudge)
			case e.Kind == Put && e.Why == Vetoed && act == "":
				act = detect.Veto
			case e.Kind == AskUser:
				act = detect.Ask
			case e.Kind == AskModel && e.For == ForFinal:
				return append(acts, detect.FinalAnswer)
			case e.Kind == Halt && string(e.Outcome.Stop) == d.Name:
				act = detect.Stop
			}
		}
		if act != "" {
			acts = append(acts, act)
		}
	}
	return acts
}

// last returns the act of the highest rung, or of the last firing.
func last(d *detect.Detector) detect.Act {
	if n := len(d.Firings); n > 0 {
		return d.Firings[n-1]
	}
	return slices.MaxFunc(d.Do, func(a, b detect.Rung) int { return a.At - b.At }).Act
}

// reaches says which repetitions make the detector act, and never reach its last act.
// It returns false if none makes it act.
func reaches(t *testing.T, d *detect.Detector) (stuck []string, acts bool) {
	t.Helper()
	for _, r := range repetitions(d) {
		did := acted(t, d, r)
		acts = acts || len(did) > 0
		if len(did) > 0 && !slices.Contains(did, last(d)) {
			stuck = append(stuck, r.name)
		}
	}
	return stuck, acts
}

// ladders are the rungs of the test. The last act is not among the lower ones.
var ladders = []string{
	"3 stop", "1 stop", "4 veto", "2 nudge, 4 stop", "2 veto, 4 stop", "3 veto, 6 stop", "2 ask, 4 stop", "2 veto, 4 final-answer", "2 veto, 3 ask",
	"2 nudge, 3 veto, 5 stop", "2 veto, 3 nudge", "2 stop, 4 nudge", "2 final-answer, 3 stop", "2 veto, 3 nudge, 4 stop", "4 stop, 2 nudge",
}

func rungsOf(t *testing.T, ladder string) (rungs []detect.Rung) {
	t.Helper()
	for _, rung := range strings.Split(ladder, ", ") {
		var r detect.Rung
		if _, err := fmt.Sscan(rung, &r.At, &r.Act); err != nil {
			t.Fatal(err)
		}
		rungs = append(rungs, r)
	}
	return rungs
}

// someDetector draws a detector, most of whose keys have their defaults.
func someDetector(t *testing.T, d *rand.Rand) detect.Detector {
	one := func(n int) bool { return d.IntN(n) == 0 }
	out := detect.Detector{Name: "twice", Do: rungsOf(t, ladders[d.IntN(len(ladders))])}
	switch d.IntN(5) {
	case 0:
		out.Match, out.Memory, out.Full = detect.Window, 6+d.IntN(6), one(3)
	case 1:
		out.Match, out.Period = detect.Cycle, []detect.Period{{}, {Min: 1, Max: 1}, {Min: 2, Max: 3}, {Min: 1, Max: 4}}[d.IntN(4)]
		if one(2) {
			out.Memory = 8 + d.IntN(20)
		}
	default:
		out.Ends = []detect.Ends{"", detect.EndsNext, detect.EndsTool, detect.EndsBatch, detect.EndsNever}[d.IntN(5)]
		if one(4) {
			out.Memory, out.Full = 5+d.IntN(5), one(2)
		}
		out.OncePerTurn = one(6)
		if one(8) {
			out.DistinctArgs = 1 + d.IntN(3)
		}
	}
	out.Vetoed = []detect.VetoedAs{"", "", detect.AsSame, detect.AsOther, detect.NotRecorded}[d.IntN(5)]
	if one(2) {
		out.Key = [][]detect.Part{{detect.Tool}, {detect.Tool, detect.RawArgs}, {detect.Tool, detect.Args, detect.Result}, {detect.Tool, detect.Error}, {detect.Args}}[d.IntN(5)]
	}
	if one(2) {
		out.Counts = [][]detect.Class{{detect.All}, {detect.Failed}, {detect.Unknown}, {detect.Denied}, {detect.Failed, detect.Denied}, {detect.Unknown, detect.Denied},
			{detect.Invalid, detect.Empty}}[d.IntN(7)]
	}
	if out.Match == detect.Cycle { // the calls of the cycles differ in their tools alone, and are executed
		if len(out.Key) == 1 {
			out.Key = nil
		}
		if !slices.Contains(out.Counts, detect.Failed) {
			out.Counts = nil
		}
	}
	if slices.Contains(out.Counts, detect.Invalid) {
		out.DistinctArgs = 0 // the invalid calls of the toy are all alike
	}
	if one(4) {
		out.Record = []detect.Unit{detect.PerTurn, detect.PerReply}[d.IntN(2)]
	}
	out.PriorOnly = one(3)
	if one(4) {
		out.Acts = detect.AfterBatch
	}
	if one(4) {
		out.Reset = []detect.Reset{[]detect.Reset{detect.OnSuccess, detect.OnToolSuccess, detect.OnResultChange}[d.IntN(3)]}
	}
	if one(6) {
		out.AfterFiring = detect.Clear
	}
	if one(8) {
		out.Firings = [][]detect.Act{{detect.Veto, detect.Stop}, {detect.Nudge, detect.Ask, detect.FinalAnswer}, {detect.Stop, detect.Veto}, {detect.Ask}}[d.IntN(4)]
	}
	if one(6) {
		out.Within = time.Hour
	}
	return out
}

// A detector that has nothing that never acts, has a repetition that makes it act, and
// every repetition that makes it act reaches its last rung.
func TestEveryLadderEnds(t *testing.T) {
	draws := 3_000
	if testing.Short() {
		draws = 1_000
	}
	dice := rand.New(rand.NewPCG(25, 0))
	kept, refused := 0, 0
	for n := range draws {
		d := someDetector(t, dice)
		if len(d.Validate()) > 0 {
			continue
		}
		never := d.NeverActs()
		if len(never) > 0 {
			refused++
			continue
		}
		kept++
		switch stuck, acts := reaches(t, &d); {
		case !acts:
			t.Errorf("draw %d: %+v never acts", n, d)
		case len(stuck) > 0:
			t.Errorf("draw %d: %+v never reaches %s in %q", n, d, last(&d), stuck)
		}
		if t.Failed() {
			return
		}
	}
	if kept < draws/10 || refused < draws/10 {
		t.Errorf("of %d detectors %d were played and %d refused", draws, kept, refused)
	}
}

// What a detector refuses is right: played, the rung or firing is not reached.
func TestLaddersThatNeverEnd(t *testing.T) {
	dice := rand.New(rand.NewPCG(25, 1))
	wanted := 100
	if testing.Short() {
		wanted = 50
	}
	for n := 0; n < wanted; {
		d := someDetector(t, dice)
		if len(d.Validate()) > 0 || d.Full { // full depends on how long the batches are
			continue
		}
		ladder := slices.ContainsFunc(d.NeverActs(), func(m detect.Mistake) bool { return strings.Contains(m.Text, "never be reached") })
		if !ladder {
			continue
		}
		n++
		if stuck, acts := reaches(t, &d); acts && len(stuck) == 0 {
			t.Errorf("%+v was refused, and reaches %s: %v", d, last(&d), d.NeverActs())
		}
	}
}

// Settings that can never act, each with what makes it act.
func TestNeverActs(t *testing.T) {
	for _, c := range []struct{ field, value, with string }{
		{"limits.at_limit", "final-answer", "limits.turns: 3"},
		{"limits.at_limit", "ask", "limits.calls: 3"},
		{"limits.at_limit", "grace", "limits.steps: 3"},
		{"limits.near", "2", "limits.turns: 3"},
		{"limits.near", "2", "limits.calls: 3"},
		{"limits.adapt.errors", "0.5", "limits.turns: 4"},
		{"limits.adapt.errors", "0.5", "limits.calls: 2; limits.adapt.floor: 0"},
		{"time.summary", "1s", "history.compact_at: 9"},
		{"time.summary", "1s", "history.compact_tokens: 900"},
		{"time.summary", "1s", "history.compact_on_overflow: true"},
		{"time.pause_for_user", "true", "time.run: 1m"},
		{"errors.trip", "exceeded", "errors.max_consecutive: 3"},
		{"errors.batch", "any", "errors.max_consecutive: 3"},
		{"history.keep_last", "2", "history.max_messages: 9"},
		{"model_retry.same_deadline", "2", "model_retry.max: 2; time.chunk: 1s"},
		{"history.keep_last", "2", "history.compact_at: 9"},
		{"contracts.repair", "1", "contracts.input: true"},
		{"contracts.repair", "1", "contracts.output: true"},
		{"policy.ask_missing", "true", "contracts.input: true"},
	} {
		cfg := Off()
		set(t, &cfg, c.field, c.value)
		if got := never(t, &cfg); got != c.field {
			t.Errorf("%s: %s: got %q", c.field, c.value, got)
		}
		for _, line := range strings.Split(c.with, "; ") {
			field, value, _ := strings.Cut(line, ": ")
			set(t, &cfg, field, value)
		}
		if got := never(t, &cfg); got != "" {
			t.Errorf("%s: %s with %s: got %q", c.field, c.value, c.with, got)
		}
	}
	for _, c := range []struct{ settings, want string }{
		{"errors.max_consecutive: 3; errors.kinds: ", "errors.max_consecutive"},
		{"model_retry.same_deadline: 3; model_retry.max: 2; time.chunk: 1s", "model_retry.same_deadline"},
		{"model_retry.same_deadline: 2; model_retry.max: 2", "model_retry.same_deadline"},
		{"retry.max: 3; retry.codes: ", "retry.max"},
		{"history.compact_at: 3", ""}, // the first message, the summary and the newest message
		{"history.compact_at: 2", "history.compact_at"},
		{"history.compact_at: 2; history.keep_first: false", ""},
		{"history.compact_at: 5; history.keep_last: 3", ""},
		{"history.compact_at: 5; history.keep_last: 4", "history.compact_at"},
		{"model_retry.max: 3; model_retry.statuses: ", "model_retry.max"},
		{"time.run: 1m; time.tool: 1m", ""},
		{"time.run: 1m; time.tool: 2m", "time.tool"},
		{"time.run: 1m; time.tool: 2m; time.pause_for_user: true", ""},
		{"time.run: 1m; time.model: 2m", "time.model"},
		{"time.run: 1m; time.permission: 2m", "time.permission"},
		{"time.run: 1m; time.permission: 2m; time.pause_for_user: true", ""},
		{"time.model: 1m; time.first_token: 1m; time.chunk: 1m", ""},
		{"time.model: 1m; time.first_token: 2m; time.chunk: 2m", "time.first_token time.chunk"},
		{"detectors[0].reset: user-message", "detectors[0].reset[0]"},
		{"detectors[0].reset: user-message; scope: session", ""},
		{"detectors[0].do[0].act: veto; detectors[0].do[1].at: 6; detectors[0].do[1].act: stop; detectors[0].vetoed: other", "detectors[0].do[1].at"},
	} {
		cfg := oneDetector()
		for _, line := range strings.Split(c.settings, "; ") {
			field, value, _ := strings.Cut(line, ": ")
			set(t, &cfg, field, value)
		}
		if got := never(t, &cfg); got != c.want {
			t.Errorf("%s: got %q, want %q", c.settings, got, c.want)
		}
	}
	for name, cfg := range map[string]Config{"none": Off(), "hpd-agent": Default()} {
		if got := never(t, &cfg); got != "" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func set(t *testing.T, cfg *Config, field, value string) {
	t.Helper()
	if err := setField(cfg, field, value); err != nil {
		t.Fatal(err)
	}
}

// never returns the fields that can never act.
func never(t *testing.T, cfg *Config) string {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	var fields []string
	if err := cfg.NeverActs(); err != nil {
		for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
			fields = append(fields, e.(*FieldError).Field)
		}
	}
	return strings.Join(fields, " ")
}
