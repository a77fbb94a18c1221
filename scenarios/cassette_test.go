package scenarios

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

const recorded = `name: recorded
description: d
label: healthy
task: t
cassette: deep/r.cassette.yaml
expect: {turns: 1}
`

// A scenario with a cassette is answered by the player of the trial, which gets
// the path as it is seen from here.
func TestCassette(t *testing.T) {
	s, err := Parse("mine/recorded.yaml", recorded)
	if err != nil {
		t.Fatal(err)
	}
	if s.Cassette != "mine/deep/r.cassette.yaml" {
		t.Errorf("the cassette is %q", s.Cassette)
	}
	says := func(said fakes.Said, err error) fakes.Speaker {
		return func(context.Context, time.Duration, loop.ModelRequest) (fakes.Said, error) { return said, err }
	}
	hello := says(fakes.Said{Text: "hello", Finish: loop.FinishStop, After: time.Second}, nil)
	none, left := func() error { return nil }, func() error { return errors.New("one request was not made") }
	other := Variant{Name: "other", Config: loop.Off()}
	for _, c := range []struct {
		name    string
		player  Player
		variant Variant
		verdict Verdict
		rule    string
	}{
		{"an answer", func(*Scenario) (fakes.Speaker, func() error, error) { return hello, none, nil }, s.Variant, Pass, ""},
		{"a rest under its own variant", func(*Scenario) (fakes.Speaker, func() error, error) { return hello, left, nil }, s.Variant, Inconclusive, "cassette"},
		{"a rest under another", func(*Scenario) (fakes.Speaker, func() error, error) { return hello, left, nil }, other, Pass, ""},
		{"a request that is not there", func(*Scenario) (fakes.Speaker, func() error, error) {
			return says(fakes.Said{}, errors.New("a miss")), none, nil
		}, s.Variant, Inconclusive, "cassette"},
		{"no cassette", func(*Scenario) (fakes.Speaker, func() error, error) { return nil, nil, errors.New("no such file") }, s.Variant, Inconclusive, "cassette"},
		{"no player", nil, s.Variant, Inconclusive, "cassette"},
	} {
		r, _ := Trial{Scenario: s, Variant: c.variant, Seed: 1, Player: c.player}.Run(context.Background())
		rule := ""
		if len(r.Findings) > 0 {
			rule = r.Findings[0].Rule
		}
		if r.Verdict != c.verdict || rule != c.rule {
			t.Errorf("%s: %s %+v, want %s %q", c.name, r.Verdict, r.Findings, c.verdict, c.rule)
		}
	}
}

func TestCassetteMistakes(t *testing.T) {
	for _, c := range []struct{ with, want string }{
		{"cassette: r.yaml", "5:11: the name of a cassette ends in .cassette.yaml"},
		{"cassette: ../r.cassette.yaml", "5:11: \"../r.cassette.yaml\" is not in the folder"},
		{"cassette: /r.cassette.yaml", "5:11: \"/r.cassette.yaml\" is not in the folder"},
		{"model: [{text: a}]\ncassette: r.cassette.yaml", "6:11: a scenario has both model and cassette"},
		{"system: x", "1:1: a scenario has none of model, cassette"},
	} {
		_, err := Parse("mine/r.yaml", strings.Replace(recorded, "cassette: deep/r.cassette.yaml", c.with, 1))
		if err == nil || !strings.HasPrefix(err.Error(), "mine/r.yaml:"+c.want) {
			t.Errorf("%s: got %v, want %s", c.with, err, c.want)
		}
	}
}
