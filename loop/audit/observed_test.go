package audit

import (
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

func TestObserved(t *testing.T) {
	const start = "   0.000s started text=go\n          > ask m1#1 for=reply to=1\n"
	const reply = "   1.000s reply m1 call=a:f(`{\"n\":1}`) finish=tool_calls\n"
	for name, tt := range map[string]struct{ text, rule string }{
		"clean":           {start + reply + "          > call c1#1 name=f args=`{ \"n\": 1 }`\n   2.000s result c1#1 ok text=x\n          > put c1 text=x\n          > ask m2#1 for=reply to=3\n   3.000s tick\n          > halt stop=stopped-by-agent end=STOPPED\n", ""},
		"no beginning":    {"   0.000s tick\n", "first-input"},
		"time":            {"   2.000s started text=go\n   1.000s tick\n", "time"},
		"nothing open":    {start + "   1.000s reply m2 text=x finish=stop\n", "number"},
		"answered twice":  {start + reply + reply, "number"},
		"a try left out":  {start + "          > ask m1#3 for=reply to=1\n", "number"},
		"other arguments": {start + reply + "          > call c1#1 name=f args=`{\"n\":2}`\n", "as-asked"},
		"not asked":       {start + reply + "          > call c2#1 name=f args=`{\"n\":1}`\n", "as-asked"},
		"two results":     {start + reply + "          > put c1 text=x\n          > put c1 text=x\n", "results"},
		"result of none":  {start + reply + "          > put c7 text=x\n", "results"},
		"after the halt":  {start + "          > halt stop=done end=DONE\n   1.000s tick\n", "after-halt"},
	} {
		trace, err := loop.ParseTrace(tt.text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found := Observed(trace)
		if tt.rule == "" && len(found) > 0 || tt.rule != "" && (len(found) != 1 || found[0].Rule != tt.rule) {
			t.Errorf("%s: %v, want %q", name, found, tt.rule)
		}
	}
}
