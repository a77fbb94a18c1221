package trajectories

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"

	"github.com/google/go-cmp/cmp"
)

func TestReadFormats(t *testing.T) {
	type trajectory struct {
		name, model string
		line        int
		label       Label
		system      string
		messages    int
		sketch      string
	}
	for _, c := range []struct {
		file, format string
		want         []trajectory
	}{
		{"tau-bench.json", "tau-bench", []trajectory{
			{"task=0,trial=2", "", 2, Success, "You help library members.", 12, `
user "Please renew my books."
  turn "Which card is it?"
user "Card 17."
  turn "" think({"thought": "two books"})=""
  turn "" renew({"book": 4})="Error: book 4 is reserved"
  turn "" renew({"book": 5})="until June"
  turn "Book 5 is renewed, book 4 is reserved."
user "###STOP###"
`},
			{"task=1,trial=0", "", 22, Failure, "You help library members.", 4, `
user "What do I owe?"
  turn "" transfer()="a librarian takes over"
`},
		}},
		{"agentdojo.jsonl", "agentdojo", []trajectory{
			{"index=7", "small-model", 2, Success, "You run a garden.", 6, `
user "Water the beds."
  turn "Both at once." water({"bed":1,"litres":5})="done" water({"litres":5,"bed":2})=ToolBug:"ValueError: no bed 2"
  turn "Bed 1 is watered."
`},
			{"index=8", "small-model", 3, Failure, "You run a garden.", 6, `
user "Is it dry?"
  turn "" soil({})="dry" rain({})="none"
  turn "" soil({})=?
`},
		}},
		{"agentdojo-native.json", "agentdojo-native", []trajectory{
			{"garden-t1", "small-model", 1, Failure, "You run a garden.", 6, `
user "Water both beds."
  turn "" water({"bed":1})="done" water({"bed":2})=ToolBug:"ValueError: no bed 2"
  turn "Bed 1 is wet."
`},
		}},
		{"tau2.json", "tau2", []trajectory{
			{"task=lamp,trial=0", "small-model", 1, Success, "", 9, `
leading "Hello!"
user "My lamp is off."
  turn "" lookup({"lamp":3})=ToolBug:"no such lamp"
  turn "Please press the switch."
user "It works."
  turn "Good."
`},
			{"task=door,trial=1", "small-model", 1, Unlabelled, "", 2, `
user "Open the door."
  turn "" open({})=?
`},
		}},
		{"toolathlon.json", "toolathlon", []trajectory{
			{"line=1", "", 1, Failure, "", 7, `
user "Count the files."
  turn "I look." fs-list()=ToolBug:"Access denied: not your folder" shell-run({"command":"git clone x"})="Cloning…\nreturn code: 0" shell-run({"command":"zap)=ToolBug:"zap: not found\nreturn code: 127" fs-read({"path":"log"})="a log with the word error in it"
  turn "I cannot."
`},
		}},
		{"mini-swe-agent/shop-1.traj.json", "mini-swe-agent", []trajectory{
			{"shop-1", "small-model", 1, Success, "One bash block a reply.", 10, `
user "Fix the sum."
  turn "THOUGHT: look\n\n` + "`" + `` + "`" + `` + "`" + `bash\ngrep sum .\n` + "`" + `` + "`" + `` + "`" + `" bash({"command":"grep sum ."})=ToolBug:"<returncode>1</returncode>\n<output>\n</output>"
  turn "` + "`" + `` + "`" + `` + "`" + `bash\nls\n` + "`" + `` + "`" + `` + "`" + `\nand\n` + "`" + `` + "`" + `` + "`" + `bash\npwd\n` + "`" + `` + "`" + `` + "`" + `" bash({"command":"ls\npwd"})=InvalidInput:"Please always provide EXACTLY ONE action in triple backticks, found 2 actions."
  turn "` + "`" + `` + "`" + `` + "`" + `bash\nsleep 99\n` + "`" + `` + "`" + `` + "`" + `" bash({"command":"sleep 99"})=Timeout:"The last command <command>sleep 99</command> timed out and has been killed."
  turn "` + "`" + `` + "`" + `` + "`" + `bash\ngit diff\n` + "`" + `` + "`" + `` + "`" + `" bash({"command":"git diff"})="diff --git a b"
`},
		}},
		{"swe-agent.traj", "swe-agent", []trajectory{
			{"line=1", "", 1, Unlabelled, "You fix code.\nLike this.", 5, `
user "Fix a.py."
  turn "Look first." bash({"command":"open a.py\n"})="1: x"
  turn "Edit." bash({"command":"edit 1:1\n"})=InvalidInput:"Your proposed edit has introduced new syntax error(s)."
  turn "Run." bash({"command":"python a.py"})=ToolBug:"Traceback (most recent call last):\n  boom"
  turn "Wait." bash({"command":"sleep 99"})=Timeout:"\nEXECUTION TIMED OUT"
  turn "Done." bash({"command":"submit"})="diff"
`},
		}},
		{"swe-agent-history.traj", "swe-agent", []trajectory{
			{"line=1", "", 1, Unlabelled, "You fix code.", 4, `
user "Fix a.py."
  turn "Look." open({"path":"a.py"})="1: x"
`},
		}},
		{"sentinel/prices-1.jsonl", "sentinel", []trajectory{
			{"line=1", "", 1, Failure, "", 2, `
user "Sum two prices."
  turn "" price({"item":1})="$5" price({"item":2})=ToolBug:"no such item"
  turn "The sum is $5."
`},
		}},
		{"sentinel/prices-2.jsonl", "sentinel", []trajectory{
			{"line=1", "", 1, Success, "", 3, `
user ""
  turn "" price({"item":"a [b({"})="$5 [net]" price({"item":2})="gone"
  turn "" sum({"of":[5]})=ToolBug:"5"
  turn "It is $5."
`},
		}},
		{"openhands.jsonl", "openhands", []trajectory{
			{"issue-4", "", 1, Success, "", 6, `
user "Add a licence."
  turn "First the file." run({"command":"touch LICENSE"})=ToolBug:"no space left"
  turn "" run_ipython({"code":"print(1)"})="1"
  turn "It is there."
`},
		}},
		{"openhands-events.json", "openhands-events", []trajectory{
			{"line=2", "small-model", 2, Unlabelled, "", 6, `
user "Rename a."
  turn "I move it." execute_bash({"command": "mv a b"})=ToolBug:""
  turn "" read({"path":"b"})=ToolBug:"no file b"
  turn "I could not."
`},
		}},
		{"claude-code.jsonl", "claude-code", []trajectory{
			{"shed-9", "small-model", 1, Unlabelled, "", 7, `
user "Paint the shed."
  turn "First the walls." Paint({"wall":1})="red" Paint({"wall":2})=ToolBug:"no paint left"
  turn "One wall is red."
user "Thanks."
`},
		}},
		{"otlp.jsonl", "otlp", []trajectory{
			{"trace=t1", "small-model", 1, Unlabelled, "You run a garden.", 8, `
user "Is it dry?"
  turn "I look." soil({"bed":1})="dry" rain({})="none"
  turn "Dry."
user "Thanks."
  turn "Bye."
`},
			{"trace=t2", "", 1, Unlabelled, "", 5, `
user ""
  turn "" water()=RateLimited:"" water()=ToolBug:""
  turn ""
`},
		}},
		{"chat.json", "openai-chat", []trajectory{
			{"weather", "some-model", 1, Failure, "Be brief.", 5, `
user "Weather in Bern?\n[image_url]"
  turn "I look." weather({"city": "Bern)="cut off"
  turn "I cannot say."
`},
		}},
		{"chats.jsonl", "openai-chat", []trajectory{
			{"line=1", "", 1, Unlabelled, "", 2, "user \"One?\"\n  turn \"One.\"\n"},
			{"line=3", "", 3, Success, "", 2, "user \"Two?\"\n  turn \"Two.\"\n"},
			{"third", "", 4, Unlabelled, "", 1, "user \"Three?\"\n"},
		}},
	} {
		for _, format := range []string{"", c.format} {
			t.Run(c.file+"/"+format, func(t *testing.T) {
				path := "testdata/" + c.file
				trajectories, problems := Read(path, format)
				labels := NewLabels([]string{path})
				labels.Label(trajectories)
				for _, p := range problems {
					t.Error(p)
				}
				if len(trajectories) != len(c.want) {
					t.Fatalf("%d trajectories, want %d", len(trajectories), len(c.want))
				}
				for i, r := range trajectories {
					want := c.want[i]
					want.sketch = block(want.sketch)
					got := trajectory{r.Name, r.Model, r.Line, r.Label, r.System, r.Messages, sketch(r)}
					if got != want || r.File != path {
						t.Errorf("%s: got %+v\nwant %+v", r.File, got, want)
					}
				}
			})
		}
	}
}

// write writes a file into a new folder and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	goodChat = `[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]`
	goodDojo = `{"index": 1, "messages": ` + goodChat + `, "metadata": {"success": true}}`
	goodTau  = `{"task_id": 1, "trial": 0, "reward": 1.0, "traj": ` + goodChat + `}`
)

// A problem is reported with its line and does not hide good records.
func TestReadProblems(t *testing.T) {
	for _, c := range []struct {
		name, format, content string
		trajectories          int
		problems              []string // what each says after the file's name
	}{
		{"empty", "", "", 0, []string{": the file is empty"}},
		{"blank", "", " \n\t\n", 0, []string{": the file is empty"}},
		{"prose", "", "Once upon a time\n", 0, []string{
			": no recorded run that can be read, only invalid JSON: invalid character 'O' looking for beginning of value (line 1, byte 1); agentbench list formats says"}},
		{"another format", "", `{"pages": [], "info": {}}`, 0, []string{`: no recorded run that can be read, only an object with "info", "pages"; agentbench list formats says`}},
		{"many keys", "", `{"g":1,"f":1,"e":1,"d":1,"c":1,"b":1,"a":1}`, 0, []string{`an object with "a", "b", "c", "d", "e", "f", …; agentbench list formats`}},
		{"a number", "", "17", 0, []string{": no recorded run that can be read, only a number; agentbench list formats says"}},
		{"nothing", "", "[]", 0, []string{": no recorded run that can be read, only an empty array; agentbench list formats says"}},
		{"numbers", "", "[1, 2]", 0, []string{": no recorded run that can be read, only a number; agentbench list formats says"}},
		{"unknown format", "csv", goodChat, 0, []string{`: unknown format "csv" (want tau-bench, tau2, agentdojo, `}},
		{"wrong format", "tau-bench", goodDojo, 0, []string{":1: cannot read it as tau-bench: traj must be an array"}},
		{"the first line of AgentDojo alone", "", `{"metadata": {"benchmark": "agent-dojo"}}`, 0, []string{
			`: no recorded run in it; expected {"messages": [messages], "metadata": {"success": true}} a line`}},

		{"a broken line first", "", goodDojo[:40] + "\n" + goodDojo + "\n", 1, []string{":1: invalid JSON: "}},
		{"a broken line between", "", goodDojo + "\n" + `{"index": ` + "\n" + goodDojo, 2, []string{":2: invalid JSON: unexpected end of JSON input (line 2, byte 9)"}},
		{"a broken line of plain chat", "", goodChat + "\n" + "oops" + "\n" + goodChat, 2, []string{":2: invalid JSON: invalid character 'o'"}},
		{"a line of another format", "", goodDojo + "\n" + goodTau, 1, []string{":2: cannot read it as agentdojo: messages must be an array"}},
		{"NUL in a line", "", goodChat + "\n" + "[\x00]\n" + goodChat, 2, []string{":2: a NUL byte: the file is not a text or is damaged"}},
		{"NUL everywhere", "", strings.Repeat("\x00", 100), 0, []string{": no recorded run that can be read, only a NUL byte"}},
		{"deep line", "", goodChat + "\n" + strings.Repeat("[", 100_000) + "\n" + goodChat, 2, []string{":2: JSON nested more than 1000 deep"}},
		{"deep file", "", strings.Repeat(`{"a":`, 100_000), 0, []string{": no recorded run that can be read, only JSON nested more than 1000 deep"}},
		{"deep and whole", "", goodChat + "\n" + strings.Repeat("[", 1002) + strings.Repeat("]", 1002), 1, []string{":2: JSON nested more than 1000 deep"}},

		{"array with a bad run", "", "[\n" + goodTau + ",\n{\"traj\": [{\"role\": \"robot\"}]},\n" + goodTau + "]", 2, []string{
			`:3: cannot read it as tau-bench: message 1 of 1: unknown role "robot" (want system, developer, user, assistant or tool)`}},
		{"array that breaks off in a run", "", "[\n" + goodTau + ",\n" + goodTau[:50], 1, []string{":3: invalid JSON: unexpected end of JSON input"}},
		{"array that breaks off after a run", "", "[\n" + goodTau + "\n", 1, []string{":2: invalid JSON: unexpected end of JSON input"}},
		{"array with something behind", "", "[" + goodTau + "]\nmore", 1, []string{":2: invalid JSON: invalid character 'm'"}},
		{"document with something behind", "", `{"messages":` + "\n" + goodChat + "} }", 0, []string{": no recorded run that can be read, only invalid JSON: invalid character '}' after top-level value (line 2, byte"}},

		{"no role", "", `{"messages": [{"content": "hi"}]}`, 0, []string{":1: cannot read it as openai-chat: message 1 of 1: it has no role"}},
		{"role of a wrong type", "", `{"messages": [{"role": "user"}, {"role": 5}]}`, 0, []string{":1: cannot read it as openai-chat: message 2 of 2: role must be a string, not a number"}},
		{"message of a wrong type", "", `{"messages": ["hi"]}`, 0, []string{":1: cannot read it as openai-chat: message 1 of 1: it must be an object, not a string"}},
		{"call without function", "", `{"messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}]}`, 0, []string{
			":1: cannot read it as openai-chat: message 1 of 1: call 1: it has no function with a name and arguments"}},
		{"calls that are not a list", "", `{"messages": [{"role": "assistant", "tool_calls": {}}]}`, 0, []string{"message 1 of 1: tool_calls must be an array, not an object"}},
		{"unknown label", "", `{"messages": ` + goodChat + `, "label": "great"}`, 1, []string{`:1: replayed without a label: label must be ` + labelWords + `, not "great"`}},
		{"nothing to replay", "", `[{"role": "system", "content": "hi"}, {"role": "assistant", "content": "hello"}]`, 0, []string{":1: nothing to replay: it has neither a user message nor a call"}},
		{"model of a wrong type", "", `{"index": 1, "messages": ` + goodChat + `, "metadata": {"success": true, "model": 5}}`, 0, []string{
			`:1: cannot read it as agentdojo: metadata must be {"model": text, "success": true or false}`}},
		{"too many messages", "", `{"messages": [` + strings.Repeat("{},", maxMessages) + `{}]}`, 0, []string{":1: cannot read it as openai-chat: too many messages: the limit is 100000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "x.json", c.content)
			trajectories, problems := Read(path, c.format)
			if len(trajectories) != c.trajectories {
				t.Errorf("%d trajectories, want %d", len(trajectories), c.trajectories)
			}
			var got []string
			for _, p := range problems {
				got = append(got, strings.TrimPrefix(p.Error(), filepath.ToSlash(path)))
			}
			fits := len(got) == len(c.problems)
			for i := 0; fits && i < len(got); i++ {
				fits = strings.Contains(got[i], c.problems[i])
			}
			if !fits {
				t.Errorf("problems:\n%q\nwant:\n%q", got, c.problems)
			}
		})
	}
}

// Each broken part of a record is a problem on its own line, and all the others
// are read.
func TestBrokenParts(t *testing.T) {
	const good = `{"type": "user", "message": {"role": "user", "content": "hi"}}`
	content := good + "\n\n" + `{"type": "user", "message": "hi"}` + "\n" + good + "\n" + `"hi"` + "\n"
	trajectories, problems := Read(write(t, "x.jsonl", content), "")
	if len(trajectories) != 1 || trajectories[0].Messages != 2 {
		t.Errorf("trajectories %v, want one of two messages", trajectories)
	}
	if len(problems) != 2 || problems[0].Line != 3 || problems[1].Line != 5 {
		t.Errorf("problems %v, want one on line 3 and one on line 5", problems)
	}

	_, problems = Read(write(t, "x.json", `{"info": {}, "simulations": [{"messages": `+goodChat+`}, 5, 6]}`), "")
	if len(problems) != 2 || !strings.Contains(problems[0].Text, "simulation 2 of 3: ") || !strings.Contains(problems[1].Text, "simulation 3 of 3: ") {
		t.Errorf("problems %v, want one each of the simulations 2 and 3", problems)
	}
}

// The texts and calls of all messages of an answer make one turn.
func TestAnswerOfSeveralMessages(t *testing.T) {
	const output = `[{"role": "assistant", "parts": [{"type": "text", "content": "a"}, {"type": "tool_call", "id": "1", "name": "f"}]}, {"role": "assistant", "parts": [{"type": "text", "content": "b"}]}]`
	attribute := func(key, value string) string {
		return `{"key": "` + key + `", "value": {"stringValue": ` + strconv.Quote(value) + `}}`
	}
	span := `{"traceId": "t", "attributes": [` + attribute("gen_ai.operation.name", "chat") + "," + attribute("gen_ai.output.messages", output) + `]}`
	trajectories, problems := Read(write(t, "x.json", `{"resourceSpans": [{"scopeSpans": [{"spans": [`+span+`]}]}]}`), "")
	if len(trajectories) != 1 || len(problems) > 0 {
		t.Fatalf("%d trajectories, problems %v", len(trajectories), problems)
	}
	if got, want := sketch(trajectories[0]), "user \"\"\n  turn \"a\\nb\" f()=?\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadMissingFileAndFolder(t *testing.T) {
	if _, problems := Read("testdata/none.json", ""); len(problems) != 1 || problems[0].Error() != "testdata/none.json: there is no such file or folder" {
		t.Errorf("missing file: %v", problems)
	}
	if _, problems := Read("testdata", ""); len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), "testdata: ") {
		t.Errorf("a folder: %v", problems)
	}
}

// A record above the cap is refused, and the next one is read.
func TestReadLargeRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("the record has 64 MiB")
	}
	large := `[{"role": "user", "content": "` + strings.Repeat("x", maxRecord) + `"}]`
	trajectories, problems := Read(write(t, "x.jsonl", large+"\n"+goodChat), "")
	if len(trajectories) != 1 || len(problems) != 1 || problems[0].Line != 1 || problems[0].Text != "the record is larger than 64 MiB" {
		t.Errorf("%d trajectories, problems %v", len(trajectories), problems)
	}
}

// A byte order mark, CRLF and bytes that are not UTF-8 are accepted.
func TestReadOddBytes(t *testing.T) {
	content := "\ufeff" + strings.Replace(goodChat, "hi", "caf\xe9", 1) + "\r\n" + goodChat + "\r\n"
	trajectories, problems := Read(write(t, "x.jsonl", content), "")
	if len(trajectories) != 2 || len(problems) != 0 || trajectories[0].Runs[0].User != "caf\ufffd" {
		t.Errorf("trajectories %v, problems %v", trajectories, problems)
	}
}

// A name is unique in its file and fit for a results line, whatever the source
// says.
func TestNames(t *testing.T) {
	r := reader{names: map[string]bool{}}
	var got []string
	for i, name := range []string{"a", "a", "a~2", "", "", "b c/d\x1b[31m\n", strings.Repeat("é", 90)} {
		got = append(got, r.unique(name, 9))
		r.runs = i + 1
	}
	want := []string{"a", "a~2", "a~2~3", "line=9", "line=9~5", "b-c-d-[31m-", strings.Repeat("é", 80)}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"runs/b.jsonl", "runs/a.json", "runs/README.md", "runs/index.tsv", "runs/deep/c.JSON", "runs/deep/f.traj", "runs/labels.json", "runs/deep/manifest.json",
		"runs/.git/d.json", "runs/.e.json", "docs/README.md", "one [1].json"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("{}"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name            string
		paths           []string
		files, problems []string
	}{
		{"a folder", []string{"runs"}, []string{"runs/a.json", "runs/b.jsonl", "runs/deep/c.JSON", "runs/deep/f.traj"}, nil},
		{"a file of any name", []string{"runs/index.tsv"}, []string{"runs/index.tsv"}, nil},
		{"a glob, and each file once", []string{"runs/b.jsonl", "runs/*.json*", "./runs/a.json"}, []string{"runs/b.jsonl", "runs/a.json"}, nil},
		{"a glob of folders", []string{"run?"}, []string{"runs/a.json", "runs/b.jsonl", "runs/deep/c.JSON", "runs/deep/f.traj"}, nil},
		{"a name that looks like a glob", []string{"one [1].json"}, []string{"one [1].json"}, nil},
		{"what is not there", []string{"none", "none/*.json", "runs/a.json", "[", "docs"}, []string{"runs/a.json"}, []string{
			"none: there is no such file or folder", "none/*.json: no file matches", "[: bad pattern: a bracket is not closed", "docs: no *.json, *.jsonl, *.traj, *.eval, *.pb, *.binpb, *.shapes, *.yaml, *.yml, *.httprr, *.har, *.sse or *.chunks.txt file in this folder"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, problems := Find(c.paths)
			for i := range files {
				files[i] = filepath.ToSlash(files[i])
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.Error())
			}
			if !slices.Equal(files, c.files) || !slices.Equal(got, c.problems) {
				t.Errorf("files %q, problems %q\nwant  %q, problems %q", files, got, c.files, c.problems)
			}
		})
	}
}

// collect makes a reader collect what it finds.
func collect(r *reader, runs *[]*Trajectory, problems *[]*Problem) {
	r.yield = func(run *Trajectory, p *Problem) bool {
		if run != nil {
			*runs = append(*runs, run)
		} else {
			*problems = append(*problems, p)
		}
		return true
	}
}

// readBytes returns the trajectories and the problems in a file with this content.
func readBytes(r *reader, data []byte) (runs []*Trajectory, problems []*Problem) {
	r.names = map[string]bool{}
	collect(r, &runs, &problems)
	if err := r.content(newSource(bytes.NewReader(data))); err != nil {
		r.problem(0, "%v", err)
	}
	return runs, problems
}

// No input makes the reader or a replay panic. Each gives trajectories or problems,
// only the last turn of a run is without calls, and each recorded call ran, was
// invalid or was saved.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"tau-bench.json", "agentdojo.jsonl", "chat.json", "chats.jsonl",
		"agentdojo-native.json", "tau2.json", "toolathlon.json", "mini-swe-agent/shop-1.traj.json", "swe-agent.traj", "swe-agent-history.traj",
		"sentinel/prices-1.jsonl", "sentinel/prices-2.jsonl", "openhands.jsonl", "openhands-events.json", "claude-code.jsonl", "otlp.jsonl"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	strict := loop.Default()
	strict.Limits = loop.Limits{Turns: 3, Calls: 4, CallsPerTurn: 2, AtLimit: loop.LimitFinal}
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, found := readBytes(&reader{}, data)
		if len(runs)+len(found) == 0 {
			t.Error("neither a trajectory nor a problem")
		}
		for _, rec := range runs {
			for _, run := range rec.Runs {
				for i, turn := range run.Turns {
					if len(turn.Calls) == 0 && i < len(run.Turns)-1 {
						t.Error("a turn without calls that is not the last of its run")
					}
				}
			}
			for _, cfg := range []loop.Config{loop.Off(), strict} {
				got, _ := play(t, rec, cfg)
				if want := rec.Counts().Calls; got.Calls+got.Invalid+got.Saved != want || got.Verdict != scenarios.Unjudged {
					t.Errorf("%d calls recorded, %d ran, %d invalid, %d saved; %s, %v", want, got.Calls, got.Invalid, got.Saved, got.Verdict, got.Findings)
				}
			}
		}
	})
}

// What is not a file never hangs a reader, and nothing in a folder is left out in silence.
func TestFindOddFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Skip("this system has no such files: ", err)
		}
	}
	const good = `[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`
	must(os.MkdirAll("runs/dir.json", 0o777))
	must(os.MkdirAll("other", 0o777))
	must(os.WriteFile("runs/good.json", []byte(good), 0o600))
	must(os.WriteFile("other/far.json", []byte(good), 0o600))
	must(os.Symlink("../other/far.json", "runs/link.json"))
	must(os.Symlink("nowhere", "runs/gone.json"))
	must(os.Symlink("loop.json", "runs/loop.json"))
	must(os.Symlink(".", "runs/round"))
	must(os.Symlink("nowhere", "runs/notes.txt"))
	must(os.Symlink("runs", "linked"))
	must(mkfifo("runs/pipe.json"))
	want := []string{
		"runs/gone.json: there is no such file or folder",
		"runs/loop.json: too many levels of symbolic links",
		"runs/pipe.json: no file, but a pipe, a socket or a device: left out",
		"runs/round: a link to a folder, which is not followed: name it to read what is in it",
	}
	for _, folder := range []string{"runs", "linked"} {
		recordings := NewRecordings(Reader{}, []string{folder}, nil)
		var got []string
		for run := range recordings.All() {
			got = append(got, run.File)
		}
		if diff := cmp.Diff([]string{folder + "/good.json", folder + "/link.json"}, got); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		got = nil
		for _, p := range recordings.Problems() {
			got = append(got, strings.Replace(p.Error(), folder+"/", "runs/", 1))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
	}
	if _, problems := Read("runs/pipe.json", ""); len(problems) != 1 || problems[0].Text != "the file is empty" {
		t.Errorf("a pipe without a writer: %v", problems)
	}
	if _, problems := Read("runs/dir.json", ""); len(problems) != 1 || problems[0].Text != "is a folder, not a file" {
		t.Errorf("a folder: %v", problems)
	}
}
