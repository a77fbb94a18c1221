package loop

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestArrivalsKeepTheTimers: a run whose loop looks up only now and then, so that
// deltas are joined, ends by the same timer and at the same instant as one that takes
// each input as it comes. Where several silences are as long as time.chunk it may be
// another one that ends the run, so these cases are left out.
func TestArrivalsKeepTheTimers(t *testing.T) {
	seeds, told := uint64(20_000), 0
	if testing.Short() {
		seeds = 2000
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 5))
		cfg := Off()
		for _, limit := range []*time.Duration{&cfg.Time.Chunk, &cfg.Time.FirstToken, &cfg.Time.Model, &cfg.Time.Run} {
			if rng.IntN(2) == 0 {
				*limit = time.Duration(1 + rng.IntN(15))
			}
		}
		inputs, silences := someArrivals(rng, cfg.Time.Chunk)
		if silences > 1 {
			continue
		}
		prompt := playArrivals(t, cfg, inputs, func() time.Duration { return 1 })
		late := playArrivals(t, cfg, inputs, func() time.Duration { return time.Duration(1 + rng.IntN(12)) })
		if prompt != late {
			t.Errorf("seed %d, %+v: the run ends as\n%+v\nwith the inputs\n%v\nbut as\n%+v\nif they wait", seed, cfg.Time, prompt, inputs, late)
		}
		if late.End == ModelFailed || late.End == BudgetExceeded {
			told++
		}
	}
	if told < int(seeds)/4 {
		t.Errorf("a timer ended only %d of %d runs", told, seeds)
	}
}

// someArrivals returns deltas for the first request, perhaps with a text of the user
// among them and the reply behind them, and how many silences between deltas are as
// long as chunk. An instant is a number of nanoseconds.
func someArrivals(rng *rand.Rand, chunk time.Duration) (inputs []Input, silences int) {
	ref := Ref{Kind: RefModel, N: 1, Try: 1}
	at, last, steer := time.Duration(0), time.Duration(-1), rng.IntN(12)
	for i := range rng.IntN(9) {
		at += time.Duration(rng.IntN(6))
		if i == steer {
			inputs = append(inputs, Input{Kind: Steer, At: at, Text: "quick"})
			continue
		}
		if last >= 0 && chunk > 0 && at-last >= chunk {
			silences++
		}
		last = at
		inputs = append(inputs, Input{Kind: ModelDelta, At: at, Ref: ref})
	}
	if rng.IntN(2) == 0 {
		inputs = append(inputs, Input{Kind: ModelReply, At: at + time.Duration(rng.IntN(6)), Ref: ref, Text: "done"})
	}
	return inputs, silences
}

// playArrivals plays a run and returns its outcome so far. The loop looks up after
// pause, again and again.
func playArrivals(t *testing.T, cfg Config, inputs []Input, pause func() time.Duration) Outcome {
	t.Helper()
	m, err := New(cfg, Task{Text: "go"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Step(m.Begin())
	var q arrivals
	var last time.Duration
	for now := time.Duration(0); now < 200 && !m.Halted(); now += pause() {
		for ; len(inputs) > 0 && inputs[0].At <= now; inputs = inputs[1:] {
			switch in := inputs[0]; in.Kind {
			case ModelDelta:
				q.stream.add(in.Text, in.At)
			case Steer:
				q.steer(in.Text, in.At)
			default:
				q.push(&arrival{Input: in})
			}
		}
		for n := 0; !m.Halted(); n++ {
			if n > 100 {
				t.Fatalf("at %v the inputs never end", now)
			}
			wake, armed := m.Wake()
			if !armed {
				wake = never
			}
			in, ok := q.take(wake)
			if !ok && wake <= now {
				in, ok = Input{Kind: Tick, At: wake}, true
			}
			if !ok {
				break
			}
			if in.At < last || in.At > now || in.At >= wake && in.Kind != Tick {
				t.Fatalf("%v comes after an input at %v, before the tick at %v, at %v", in, last, wake, now)
			}
			last = in.At
			m.Step(in)
		}
	}
	return m.Outcome()
}
