package detect_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/agentbench-go/agentbench/loop/detect"
)

// What makes two records the same.
func TestKey(t *testing.T) {
	nudge := at(3, Nudge)
	check(t, []row{
		{"tool and arguments", Detector{Do: nudge}, "A1 A1 A2 A1 B1 B1 B1", "7 nudge(3)"},
		{"the tool alone", Detector{Key: []Part{Tool}, Do: nudge}, "A1 A2 A3", "3 nudge(3)"},
		{"the arguments alone", Detector{Key: []Part{Args}, Do: nudge}, "A1 B1 C1", "3 nudge(3)"},
		{"canonical arguments: order does not matter", Detector{Do: nudge}, "Ax&y Ay&x Ax&y", "3 nudge(3)"},
		{"raw arguments: order matters", Detector{Key: []Part{Tool, RawArgs}, Do: nudge}, "Ax&y Ay&x Ax&y Ax&y Ax&y", "5 nudge(3)"},
		{"the result", Detector{Key: []Part{Tool, Args, Result}, Acts: AfterBatch, Do: nudge}, "A=1 A=2 A=2 A=2", "4 nudge(3)"},
		{"the error is empty for a success", Detector{Key: []Part{Tool, Error}, Acts: AfterBatch, Do: nudge}, "A=1 A=2 A=3 A!x", "3 nudge(3)"},
		{"the error", Detector{Key: []Part{Tool, Error}, Acts: AfterBatch, Do: nudge}, "A!x A!y A!y A!y", "4 nudge(3)"},
		{"error_chars cuts it", Detector{Key: []Part{Tool, Error}, ErrorChars: 2, Acts: AfterBatch, Do: nudge}, "A!xy1 A!xy2 A!xy3", "3 nudge(3)"},
		{"error_chars, one character too many", Detector{Key: []Part{Tool, Error}, ErrorChars: 3, Acts: AfterBatch, Do: nudge}, "A!xy1 A!xy2 A!xy3", ""},
		{"error_chars counts characters, not bytes", Detector{Key: []Part{Tool, Error}, ErrorChars: 2, Acts: AfterBatch, Do: nudge}, "A!éé1 A!éé2 A!éé3", "3 nudge(3)"},
		{"the reply's text", Detector{Key: []Part{Tool, Args, Text}, Do: nudge}, "a:A b:A b:A b:A", "4 nudge(3)"},
		{"ignore_args", Detector{IgnoreArgs: []string{"t1", "t2", "t3"}, Do: nudge}, "Ax&t1 Ax&t2 Ax&t3", "3 nudge(3)"},
		{"ignore_args of a call that breaks the schema", Detector{IgnoreArgs: []string{"t1", "t2", "t3"}, Do: nudge}, "Ax&t1 Ax&t2* Ax&t3", "3 nudge(3)"},
		{"ignore_args leaves the others", Detector{IgnoreArgs: []string{"t1"}, Do: nudge}, "Ax&t1 Ay&t1 Ax&t1", ""},
		{"tools.only", Detector{Tools: ToolFilter{Only: []string{"A"}}, Do: nudge}, "B B B A A A", "6 nudge(3)"},
		{"tools.except", Detector{Tools: ToolFilter{Except: []string{"A"}}, Do: nudge}, "A A A B B B", "6 nudge(3)"},
		{"tools: what is hidden does not end a streak by itself", Detector{Tools: ToolFilter{Only: []string{"A"}}, Ends: EndsNext, Do: nudge}, "A B A B A", "5 nudge(3)"},
	})
}

// What makes a record.
func TestRecord(t *testing.T) {
	nudge := at(3, Nudge)
	turn := Detector{Record: PerTurn, Do: nudge}
	anyOrder := Detector{Record: PerTurn, Order: AnyOrder, Do: nudge}
	check(t, []row{
		{"each call of a batch", Detector{Do: nudge}, "A,A,A", "1 nudge(3)"},
		{"a turn", turn, "A,B A,B A A,B A,B A,B", "6 nudge(3)"},
		{"a batch is one record", turn, "A,A,A", ""},
		{"the order of a turn's calls matters", turn, "A,B B,A A,B", ""},
		{"unless it does not", anyOrder, "A,B B,A A,B", "3 nudge(3)"},
		{"how often a call is in it matters", anyOrder, "A,B A,A,B A,B", ""},
		{"with results", Detector{Record: PerTurn, Key: []Part{Tool, Args, Result}, Acts: AfterBatch, Do: nudge}, "A,B=1 A,B=2 A,B=2 A,B=2", "4 nudge(3)"},
		{"a turn that holds no watched tool is none", Detector{Record: PerTurn, Tools: ToolFilter{Only: []string{"A"}}, Do: nudge}, "B C B C A A A", "7 nudge(3)"},
		{"a reply without calls is not a turn", Detector{Record: PerTurn, Acts: AfterBatch, Do: nudge}, "-a -a -a", ""},
		{"but a reply", Detector{Record: PerReply, Key: []Part{Text}, Acts: AfterBatch, Do: nudge}, "-a -b -b -b", "4 nudge(3)"},
		{"of which the text need not be looked at", Detector{Record: PerReply, Counts: []Class{TextOnly}, Acts: AfterBatch, Do: nudge}, "-a -b -c", "3 nudge(3)"},
		{"replies with calls are records too", Detector{Record: PerReply, Acts: AfterBatch, Do: nudge}, "A A A", "3 nudge(3)"},
	})
}

// What is counted.
func TestCounts(t *testing.T) {
	never := func(c Class, acts Moment, key ...Part) Detector {
		return Detector{Counts: []Class{c}, Key: key, Ends: EndsNever, Acts: acts, Do: at(2, Nudge)}
	}
	check(t, []row{
		{"all", never(All, BeforeCall), "A B A", "3 nudge(2)"},
		{"failed", never(Failed, AfterBatch), "A A!x A A!y", "4 nudge(2)"},
		{"failed: an unknown tool and a denial are failures", never(Failed, AfterBatch), "A? A/", "2 nudge(2)"},
		{"unknown, before the call", never(Unknown, BeforeCall), "A? A!x A A?", "4 nudge(2)"},
		{"invalid", never(Invalid, BeforeCall), "A* A!x A A*", "4 nudge(2)"},
		{"denied", never(Denied, AfterBatch), "A/ A!x A A/", "4 nudge(2)"},
		{"empty: a call without a name", never(Empty, BeforeCall), "_? A? _?", "3 nudge(2)"},
		{"a turn has failed when all of it has", Detector{Record: PerTurn, Counts: []Class{Failed}, Ends: EndsNever, Acts: AfterBatch, Do: at(2, Nudge)}, "A!x,B A!x,B A!x,B!x A!x,B!x", "4 nudge(2)"},
		{"what is not counted does not end a streak", Detector{Counts: []Class{Failed}, Ends: EndsNext, Acts: AfterBatch, Do: at(2, Nudge)}, "A!x B A!x", "3 nudge(2)"},
		{"once per turn", Detector{OncePerTurn: true, Do: at(2, Nudge)}, "A,A,A A", "2 nudge(2)"},
		{"distinct arguments", Detector{Key: []Part{Tool}, DistinctArgs: 3, Do: at(4, Nudge)}, "A1 A1 A1 A1 A2 A3", "6 nudge(6)"},
	})
}

// What ends a streak.
func TestEnds(t *testing.T) {
	ends := func(e Ends) Detector { return Detector{Ends: e, Do: at(3, Nudge)} }
	check(t, []row{
		{"turn: each occurrence in a batch counts", ends(EndsTurn), "A,A A", "2 nudge(3)"},
		{"turn: others beside it do not matter", ends(EndsTurn), "A,B C,A A,D", "3 nudge(3)"},
		{"turn: a turn without it ends it", ends(EndsTurn), "A A B A A", ""},
		{"turn: so does an answer", ends(EndsTurn), "A A -done A A", ""},
		{"next: others in a batch end it", ends(EndsNext), "A,B A,C A,D", ""},
		{"next: over turns", ends(EndsNext), "A A,B,B B", "3 nudge(3)"},
		{"tool: another call of the tool ends it", ends(EndsTool), "A1 A1 A2 A1 A1", ""},
		{"tool: other tools do not", ends(EndsTool), "A1 B A1 B A1", "5 nudge(3)"},
		{"batch: each batch begins anew", ends(EndsBatch), "A,A A,A", ""},
		{"batch: within one", ends(EndsBatch), "B,A,A,A", "1 nudge(3)"},
		{"batch: others end it", ends(EndsBatch), "A,A,B,A", ""},
		{"never", ends(EndsNever), "A B C D A B C D A", "9 nudge(3)"},
	})
}

// Which repetitions come in time, and which calls wait.
func TestTime(t *testing.T) {
	within := func(d Detector) Detector {
		d.Within, d.Do = 2*time.Minute, at(3, Nudge)
		return d
	}
	plain, next := within(Detector{}), within(Detector{Ends: EndsNext})
	never := within(Detector{Ends: EndsNever})
	prior := within(Detector{PriorOnly: true})
	cycle := within(Detector{Match: Cycle})
	window := within(Detector{Match: Window, Memory: 6})
	any := at(3, Nudge)
	check(t, []row{
		{"in time", plain, "A +2m A +2m A", "3 nudge(3)"},
		{"too late", plain, "A +2m1ns A +2m1ns A +2m1ns A", ""},
		{"a late one begins a new count", plain, "A A +3m A A A", "5 nudge(3)"},
		{"the time counts from the one before, not from the first", plain, "A +90s A +90s A", "3 nudge(3)"},
		{"of the same call", plain, "A,B +90s A,C +90s A,B", "3 nudge(3)"},
		{"a batch comes at one time", plain, "A +3m A,A,A", "2 nudge(3)"},
		{"ends: next", next, "A +3m A A A", "4 nudge(3)"},
		{"ends: never, others do not matter", never, "A +1m B +1m A +1m B +1m A", "5 nudge(3)"},
		{"ends: never, but time does", never, "A +1m B +61s A +1m B +61s A", ""},
		{"a new count nudges anew", plain, "A A A +3m A A A", "3 nudge(3) 6 nudge(3)"},
		{"prior_only", prior, "A A A A", "4 nudge(3)"},
		{"prior_only: a late call repeats nothing", prior, "A A A +3m A", ""},
		{"cycle: each call comes within the time of the lap before", cycle, "A +1m B +1m A +1m B +1m A +1m B", "6 nudge(3)"},
		{"cycle: too slow", cycle, "A +1m B +61s A +1m B +61s A +1m B +61s A", ""},
		{"window", window, "A +1m B +1m A +1m B +1m A", "5 nudge(3)"},
		{"window: too slow", window, "A +1m B +61s A +1m B +61s A", ""},
		{"window: a gap ends the count of what is before it", window, "A A +3m A B A A", "6 nudge(3)"},
		{"0 is any time", Detector{Do: any}, "A +24h A +24h A", "3 nudge(3)"},

		{"a tool that waits is left out", Detector{Do: any}, "Z Z Z Z", ""},
		{"unless the detector names it", Detector{Tools: ToolFilter{Only: []string{"A", "Z"}}, Do: any}, "Z Z Z", "3 nudge(3)"},
		{"naming others does not", Detector{Tools: ToolFilter{Except: []string{"A"}}, Do: any}, "Z Z Z", ""},
		{"it ends no streak that calls end", Detector{Ends: EndsNext, Do: any}, "A Z A Z A", "5 nudge(3)"},
		{"it takes no part in a cycle", Detector{Match: Cycle, Do: any}, "A Z B A B Z A Z Z B", "10 nudge(3)"},
		{"a turn with nothing else is no record", Detector{Record: PerTurn, Do: any}, "Z Z Z", ""},
		{"nor part of a turn's", Detector{Record: PerTurn, Do: any}, "A A,Z A,Z,Z", "3 nudge(3)"},
	})
}

// What makes a count start anew.
func TestReset(t *testing.T) {
	reset := func(r ...Reset) Detector {
		return Detector{Counts: []Class{Failed}, Key: []Part{Tool}, Ends: EndsNever, Acts: AfterBatch, Reset: r, Do: at(3, Nudge)}
	}
	changed := Detector{Ends: EndsNever, Reset: []Reset{OnResultChange}, Do: at(3, Nudge)}
	changedAfter := changed
	changedAfter.Acts = AfterBatch
	pingPong := Detector{Match: Cycle, Reset: []Reset{OnResultChange}, Do: at(3, Nudge)}
	window := Detector{Match: Window, Memory: 10, Reset: []Reset{OnResultChange}, Do: at(3, Nudge)}
	check(t, []row{
		{"nothing resets", reset(), "A!x A!x A B A!x", "5 nudge(3)"},
		{"any success", reset(OnSuccess), "A!x A!x B A!x A!x A!x", "6 nudge(3)"},
		{"a failure of another tool is not a success", reset(OnSuccess), "A!x A!x B!x A!x", "4 nudge(3)"},
		{"a success of the tool", reset(OnToolSuccess), "A!x A!x B A!x", "4 nudge(3)"},
		{"a success of the tool, with any arguments", reset(OnToolSuccess), "A1!x A1!x A2 A1!x A1!x A1!x", "6 nudge(3)"},
		// Calls 1 to 4 give 1 1 2 2: the fourth still has one equal result before
		// it, and with the call itself 2; the fifth has two.
		{"result-changed, before the call", changed, "A=1 A=1 A=2 A=2 A", "3 nudge(3) 5 nudge(3)"},
		{"result-changed, other calls do not matter", changed, "A B=1 A B=2 A", "5 nudge(3)"},
		{"result-changed, other arguments do not matter", changed, "A1 A2=x A1 A2=y A1", "5 nudge(3)"},
		{"result-changed, after the batch: the third result is another", changedAfter, "A=1 A=1 A=2 A=2 A=2", "5 nudge(3)"},
		{"result-changed in a cycle", pingPong, "A=1 B A=1 B A=1 B", "6 nudge(3)"},
		{"result-changed in a cycle: it changed", pingPong, "A=1 B A=2 B A=3 B A=4 B", ""},
		{"result-changed in a cycle: it changed before", pingPong, "A=1 B A=2 B A=2 B A=2 B", "7 nudge(3)"},
		{"the present record does not reset itself", Detector{Match: Window, Memory: 3, Acts: AfterBatch, Reset: []Reset{OnSuccess}, Do: at(1, Nudge)}, "A", "1 nudge(1)"},
		{"result-changed in a window", window, "A=1 B A=1 B A=1", "5 nudge(3)"},
		{"result-changed in a window: it changed", window, "A=1 C A=2 C A=3 A=4", ""},
	})
	onMessage := Detector{Name: "d", Ends: EndsNever, Reset: []Reset{OnUserMessage}, Do: at(3, Nudge)}
	noReset := Detector{Name: "d", Ends: EndsNever, Do: at(3, Nudge)}
	for _, c := range []struct {
		name     string
		detector Detector
		anew     bool
		want     string
	}{
		{"a new run forgets", noReset, true, ""},
		{"with the session as scope it does not", noReset, false, "3 nudge(3)"},
		{"but where a user message resets", onMessage, false, ""},
	} {
		if got := play(t, "A A | A", c.anew, c.detector); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// How far back a detector looks, and from where.
func TestMemory(t *testing.T) {
	check(t, []row{
		{"streak", Detector{Ends: EndsNever, Memory: 5, Do: at(3, Nudge)}, "A B A B A", "5 nudge(3)"},
		{"streak, one record too far", Detector{Ends: EndsNever, Memory: 4, Do: at(3, Nudge)}, "A B A B A", ""},
		{"prior_only: the present one does not count", Detector{Ends: EndsNever, PriorOnly: true, Memory: 4, Do: at(2, Nudge)}, "A B A B A", "5 nudge(2)"},
		{"prior_only acts one later", Detector{PriorOnly: true, Do: at(3, Veto)}, "A A A A", "4 veto(3)"},
		{"prior_only takes the result from the newest earlier one", Detector{Key: []Part{Tool, Error}, Counts: []Class{Failed}, Ends: EndsTool, PriorOnly: true, Do: at(2, Veto)}, "A!x A!y A!y A", "4 veto(2)"},
		{"prior_only does not take it from a vetoed one", Detector{Key: []Part{Tool, Error}, Counts: []Class{Failed}, Ends: EndsNever, PriorOnly: true, Do: at(3, Veto)}, "A!x A!x A!x A A", "4 veto(3) 5 veto(3)"},
		{"window", Detector{Match: Window, Memory: 4, Do: at(3, Nudge)}, "A A B B A A B A", "8 nudge(3)"},
		{"window: the commonest key, whatever the present one", Detector{Match: Window, Memory: 4, Acts: AfterBatch, Do: at(3, Nudge)}, "A A A B", "3 nudge(3)"},
		{"full window", Detector{Match: Window, Memory: 6, Full: true, Do: at(4, Nudge)}, "A A A A B B", "6 nudge(4)"},
		{"full streak: others fill the memory too", Detector{Ends: EndsNext, Memory: 6, Full: true, Do: at(3, Nudge)}, "B C D A A A", "6 nudge(3)"},
		{"full streak, one record short", Detector{Ends: EndsNext, Memory: 6, Full: true, Do: at(3, Nudge)}, "B C A A A", ""},
		{"prior_only window", Detector{Match: Window, Memory: 3, PriorOnly: true, Do: at(3, Nudge)}, "A A A B", "4 nudge(3)"},
		{"prior_only cycle", Detector{Match: Cycle, PriorOnly: true, Do: at(3, Nudge)}, "A B A B A B C", "7 nudge(3)"},
		{"prior_only full", Detector{Ends: EndsNever, Memory: 3, Full: true, PriorOnly: true, Do: at(1, Nudge)}, "A A A A", "4 nudge(3)"},
		{"cycle", Detector{Match: Cycle, Memory: 6, Do: at(3, Nudge)}, "A B A B A B", "6 nudge(3)"},
		{"only what is counted fills it", Detector{Tools: ToolFilter{Only: []string{"A"}}, Ends: EndsNever, Memory: 3, Do: at(3, Nudge)}, "A B B B A B B B A", "9 nudge(3)"},
	})
}

// A long session does not lose what the memory holds.
func TestForget(t *testing.T) {
	script := "A A "
	for range 400 {
		script += "B C "
	}
	// B and C reach 3 at replies 7 and 8. The last A, at 803, is one of three
	// if the memory reaches back to reply 1: 803 records.
	for memory, want := range map[int]string{802: "7 nudge(3) 8 nudge(3)", 803: "7 nudge(3) 8 nudge(3) 803 nudge(3)"} {
		d := Detector{Name: "d", Ends: EndsNever, Memory: memory, Do: at(3, Nudge)}
		if got := play(t, script+"A", true, d); got != want {
			t.Errorf("memory %d: got %q, want %q", memory, got, want)
		}
	}
	// 20 records a reply, and 2,000 replies: the log is cut many times over.
	batch := strings.TrimSuffix(strings.Repeat("B,", 20), ",")
	d := Detector{Name: "d", Tools: ToolFilter{Except: []string{"B"}}, Ends: EndsNever, Memory: 3, Do: at(3, Nudge)}
	script = "A " + strings.Repeat(batch+" ", 1000) + "A " + strings.Repeat(batch+" ", 1000) + "A"
	if got, want := play(t, script, true, d), "2003 nudge(3)"; got != want {
		t.Errorf("hidden records: got %q, want %q", got, want)
	}
	// What was cleared stays cleared, and nothing else, when the log is cut.
	fresh := func(from, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "B%d ", from+i)
		}
		return b.String()
	}
	d = Detector{Name: "d", Memory: 3, Do: at(3, Veto), AfterFiring: Clear}
	if got, want := play(t, fresh(0, 147)+"A A A "+fresh(150, 2)+"A A A", true, d), "150 veto(3) 155 veto(3)"; got != want {
		t.Errorf("cleared records: got %q, want %q", got, want)
	}
}

// Laps of the shortest cycle at the tail.
func TestCycle(t *testing.T) {
	upTo5 := Detector{Match: Cycle, Period: Period{Min: 1, Max: 5}, Memory: 25, Do: at(5, Nudge)}
	three := Detector{Match: Cycle, Period: Period{Min: 2, Max: 4}, Do: at(3, Nudge)}
	check(t, []row{
		{"period 1", upTo5, "A A A A A", "5 nudge(5)"},
		{"period 2", upTo5, "A B A B A B A B A B", "10 nudge(5)"},
		{"period 3 with an equal pair", upTo5, "A A B A A B A A B A A B A A B", "15 nudge(5)"},
		{"the default is period 2", Detector{Match: Cycle, Do: at(3, Nudge)}, "A B A B A B", "6 nudge(3)"},
		{"period 3", three, "A B C A B C A B C", "9 nudge(3)"},
		{"period 5 is too long", three, "A B C D E A B C D E A B C D E", ""},
		{"period 1 is too short", three, "A A A A A A A A A A A A", ""},
		{"an equal pair inside is not a shorter cycle", three, "A A B A A B A A B", "9 nudge(3)"},
		{"in one batch", three, "A,B,A,B,A,B", "1 nudge(3)"},
		{"results count", Detector{Match: Cycle, Key: []Part{Tool, Args, Result}, Acts: AfterBatch, Do: at(3, Nudge)}, "A=1 B A=2 B A=2 B A=2 B", "7 nudge(3)"},
	})
}

// What a vetoed call is to later counts.
func TestVetoed(t *testing.T) {
	streak := func(v VetoedAs, e Ends) Detector { return Detector{Vetoed: v, Ends: e, Do: at(3, Veto)} }
	check(t, []row{
		{"other: it equals nothing, and ends a streak that ends next", streak(AsOther, EndsNext), "A A A A A A", "3 veto(3) 6 veto(3)"},
		{"other: but not one that only a turn ends; it is the turn without the key", streak(AsOther, EndsTurn), "A A A A A A", "3 veto(3) 6 veto(3)"},
		{"other, never: it takes a place and does not count", streak(AsOther, EndsNever), "A A A A", "3 veto(3) 4 veto(3)"},
		{"same: it counts", streak(AsSame, EndsNext), "A A A A A", "3 veto(3) 4 veto(4) 5 veto(5)"},
		{"same, with another result: a veto is none", Detector{Vetoed: AsSame, Reset: []Reset{OnResultChange}, Do: at(3, Veto)}, "A A A A A", "3 veto(3) 4 veto(4) 5 veto(5)"},
		{"not-recorded: as if it had not been", streak(NotRecorded, EndsNext), "A A A A A", "3 veto(3) 4 veto(3) 5 veto(3)"},
		{"other takes a place in the memory", Detector{Ends: EndsNever, Memory: 3, Do: at(3, Veto)}, "A A A A A", "3 veto(3)"},
		{"not-recorded takes none", Detector{Ends: EndsNever, Memory: 3, Vetoed: NotRecorded, Do: at(3, Veto)}, "A A A A A", "3 veto(3) 4 veto(3) 5 veto(3)"},
		{"other breaks a cycle", Detector{Match: Cycle, Do: at(3, Veto)}, "A B A B A B A B", "6 veto(3)"},
		{"other counts in no window", Detector{Match: Window, Memory: 4, Do: at(3, Veto)}, "A A A A A A", "3 veto(3) 4 veto(3)"},
		{"same goes on with it", Detector{Match: Cycle, Vetoed: AsSame, Do: at(3, Veto)}, "A B A B A B A B", "6 veto(3) 7 veto(3) 8 veto(4)"},
	})
	// Another detector's veto: a call that was vetoed equals none, also when it
	// is the one that is looked at.
	first := Detector{Name: "first", Vetoed: AsSame, Do: at(3, Veto)}
	second := Detector{Name: "second", Acts: AfterBatch, Do: at(3, Nudge)}
	if got, want := play(t, "A A A A", true, first, second), "3 first:veto(3) 4 first:veto(4)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What happens at which count.
func TestActs(t *testing.T) {
	ladder := []Rung{{3, Nudge}, {4, Veto}, {6, Stop}}
	check(t, []row{
		{"the highest rung reached acts", Detector{Vetoed: AsSame, Do: ladder}, "A A A A A A", "3 nudge(3) 4 veto(4) 5 veto(5) 6 stop(6)"},
		{"in any order", Detector{Vetoed: AsSame, Do: []Rung{{6, Stop}, {3, Nudge}, {4, Veto}}}, "A A A A A A", "3 nudge(3) 4 veto(4) 5 veto(5) 6 stop(6)"},
		{"a nudge once per streak", Detector{Do: at(2, Nudge)}, "A A A A B A A A", "2 nudge(2) 7 nudge(2)"},
		{"a nudge once per rung", Detector{Do: []Rung{{2, Nudge}, {4, Nudge}}}, "A A A A A A", "2 nudge(2) 4 nudge(4)"},
		{"each key has streaks of its own", Detector{Do: at(2, Nudge)}, "A,B A,B A,B", "2 nudge(2) 2 nudge(2)"},
		{"a nudge at the first: once per streak too", Detector{Counts: []Class{Unknown}, Do: at(1, Nudge)}, "A? A? B A?", "1 nudge(1) 4 nudge(1)"},
		{"a nudge once per cycle, not once for each of its calls", Detector{Match: Cycle, Do: at(3, Nudge)}, "A B A B A B A B C A B A B A B", "6 nudge(3) 15 nudge(3)"},
		{"a nudge once per key of a window", Detector{Match: Window, Memory: 5, Do: at(3, Nudge)}, "A B A C A A B B B", "5 nudge(3) 9 nudge(3)"},
		{"a result has streaks of its own", Detector{Key: []Part{Tool, Result}, Ends: EndsNever, Acts: AfterBatch, Do: at(2, Nudge)}, "A=1 A=1 A=2 A=1 A=2", "2 nudge(2) 5 nudge(2)"},
		{"firings", Detector{Vetoed: AsSame, Do: at(3, Veto), Firings: []Act{Veto, Veto, Stop}}, "A A A A B B B", "3 veto(3) 4 veto(4) 7 stop(3)"},
		{"firings: the last goes on, and a nudge too", Detector{Do: at(2, Nudge), Firings: []Act{Nudge}}, "A A A", "2 nudge(2) 3 nudge(3)"},
		{"firings count since the last user message", Detector{Do: at(2, Nudge), Firings: []Act{Nudge, Stop}}, "A A | A A A", "2 nudge(2) 4 nudge(2) 5 stop(3)"},
		{"after_firing: clear", Detector{Do: at(3, Veto), AfterFiring: Clear}, "A A A A A A A", "3 veto(3) 6 veto(3)"},
		{"after_firing: clear, the record that fired too", Detector{Acts: AfterBatch, Do: at(3, Nudge), AfterFiring: Clear}, "A A A A A A", "3 nudge(3) 6 nudge(3)"},
		{"after_firing: clear, of all keys", Detector{Ends: EndsNever, Do: at(3, Veto), AfterFiring: Clear}, "B A B A A B B", "5 veto(3)"},
		{"after_firing: clear with earlier ones only: every fourth", Detector{PriorOnly: true, Do: at(3, Ask), AfterFiring: Clear}, "A A A A A A A A", "4 ask(3) 8 ask(3)"},
		{"a detector stops a run once in a batch", Detector{Do: at(2, Stop)}, "A,A,A", "1 stop(2)"},
		{"also where the vetoed calls count", Detector{Vetoed: AsSame, Do: at(2, Stop)}, "A,A,A", "1 stop(2)"},
	})
}

// If several detectors fire at one call the strongest act comes first, of equal ones
// the first in the list. Further stops come after it.
func TestStrongest(t *testing.T) {
	d := func(name string, act Act, when Moment) Detector {
		return Detector{Name: name, Acts: when, Do: at(2, act)}
	}
	for _, c := range []struct {
		name      string
		detectors []Detector
		want      string
	}{
		{"the stronger", []Detector{d("a", Nudge, BeforeCall), d("b", Veto, BeforeCall)}, "2 b:veto(2)"},
		{"in any order", []Detector{d("a", Veto, BeforeCall), d("b", Nudge, BeforeCall)}, "2 a:veto(2)"},
		{"ask above veto", []Detector{d("a", Veto, BeforeCall), d("b", Ask, BeforeCall)}, "2 b:ask(2)"},
		{"final-answer above ask", []Detector{d("a", FinalAnswer, BeforeCall), d("b", Ask, BeforeCall)}, "2 a:final-answer(2)"},
		{"stop above final-answer", []Detector{d("a", FinalAnswer, BeforeCall), d("b", Stop, BeforeCall)}, "2 b:stop(2)+2 a:final-answer(2)"},
		{"the first of equals", []Detector{d("a", Nudge, BeforeCall), d("b", Nudge, BeforeCall)}, "2 a:nudge(2)"},
		{"all stops are returned", []Detector{d("a", Stop, BeforeCall), d("b", Nudge, BeforeCall), d("c", Stop, BeforeCall)}, "2 a:stop(2)+2 c:stop(2)"},
		{"after the batch too", []Detector{d("a", Nudge, AfterBatch), d("b", Stop, AfterBatch), d("c", Ask, AfterBatch)}, "2 b:stop(2)"},
	} {
		if got := play(t, "A A", true, c.detectors...); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A set says which fields of a call it needs.
func TestWants(t *testing.T) {
	for _, c := range []struct {
		name                string
		detectors           []Detector
		empty, fields, text bool
	}{
		{"nothing", nil, true, false, false},
		{"tool and arguments", []Detector{{Do: at(2, Stop)}}, false, false, false},
		{"ignored arguments", []Detector{{Do: at(2, Stop)}, {IgnoreArgs: []string{"t"}, Do: at(2, Stop)}}, false, true, false},
		{"results", []Detector{{Key: []Part{Result}, Acts: AfterBatch, Do: at(2, Stop)}}, false, false, true},
		{"errors", []Detector{{Key: []Part{Error}, Acts: AfterBatch, Do: at(2, Stop)}}, false, false, true},
		{"changes of results", []Detector{{Reset: []Reset{OnResultChange}, Do: at(2, Stop)}}, false, false, true},
	} {
		s := NewSet(c.detectors)
		if s.Empty() != c.empty || s.WantsFields() != c.fields || s.WantsText() != c.text {
			t.Errorf("%s: empty %v, fields %v, text %v", c.name, s.Empty(), s.WantsFields(), s.WantsText())
		}
	}
}

// What loses is not lost: it acts as soon as nothing stronger does.
func TestLoserActsLater(t *testing.T) {
	nudge := Detector{Name: "nudge", Ends: EndsNever, Vetoed: AsSame, Do: at(2, Nudge)}
	veto := Detector{Name: "veto", Do: at(2, Veto), AfterFiring: Clear}
	if got, want := play(t, "A A A", true, veto, nudge), "2 veto:veto(2) 3 nudge:nudge(3)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
