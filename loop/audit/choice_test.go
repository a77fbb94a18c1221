package audit

import (
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// TestToolChoice: the model is forced until its first call, and with hold for ever. The
// trace is right for one task, and wrong for every other.
func TestToolChoice(t *testing.T) {
	trace, err := loop.ParseTrace(`   0.000s started text=go
          > ask m1#1 for=reply to=1 choice=required
   1.000s reply m1 call=a:read("{}") finish=tool_calls
          > call c1#1 name=read args="{}"
   2.000s result c1#1 ok text=one
          > put c1 text=one
          > ask m2#1 for=reply to=3
   3.000s reply m2 text=ok finish=stop
          > halt stop=done end=DONE reason="The model answered." answer=ok turns=2 model_calls=2 asked=1 calls=1 tries=1 elapsed=3s
`)
	if err != nil {
		t.Fatal(err)
	}
	tools := []loop.ToolSpec{{Name: "read"}}
	for choice, line := range map[loop.ToolChoice]int{{Use: loop.UseRequired}: 0, {}: 2, {Use: "read"}: 2, {Use: loop.UseRequired, Hold: true}: 7} {
		found := Check(loop.Off(), loop.Task{Text: "go", ToolChoice: choice}, tools, trace)
		switch {
		case line == 0 && len(found) > 0, line > 0 && (len(found) != 1 || found[0].Rule != "asked-with" || found[0].Line != line):
			t.Errorf("%+v: %v", choice, found)
		}
	}
}
