package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// A recording reads the same in JSON, in zstd and in protobuf.
func TestDecoders(t *testing.T) {
	const trace = `{"resourceSpans":[{"scopeSpans":[{"spans":[
{"traceId":"AAAAAAAAAAAAAAAAAAAAAQ==","spanId":"AAAAAAAAAAE=","name":"chat","startTimeUnixNano":"1","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},
{"key":"gen_ai.output.messages","value":{"stringValue":"[{\"role\":\"assistant\",\"parts\":[{\"type\":\"tool_call\",\"id\":\"a\",\"name\":\"f\",\"arguments\":{}}]}]"}}]}]}]}]}`
	var request v1.TracesData
	if err := protojson.Unmarshal([]byte(trace), &request); err != nil {
		t.Fatal(err)
	}
	binary, err := proto.Marshal(&request)
	if err != nil {
		t.Fatal(err)
	}
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	read := func(name string, data []byte) []*trajectories.Run {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		runs, problems := trajectories.Reader{Decoders: decoders}.Read(path)
		if len(runs) != 1 || len(problems) > 0 {
			t.Fatalf("%s: %d runs, problems %v", name, len(runs), problems)
		}
		return runs[0].Runs
	}
	want := read("trace.json", []byte(trace))
	if len(want) != 1 || len(want[0].Turns) != 1 || len(want[0].Turns[0].Calls) != 1 {
		t.Fatalf("the JSON has %+v", want)
	}
	for name, data := range map[string][]byte{"trace.pb": binary, "trace.json.zst": packer.EncodeAll([]byte(trace), nil)} {
		if diff := cmp.Diff(want, read(name, data)); diff != "" {
			t.Errorf("%s (-JSON +read):\n%s", name, diff)
		}
	}
}

// A decoder gives as much as is allowed and no more.
func TestDecodersAreBounded(t *testing.T) {
	const most = 1000
	exactly, more := bytes.Repeat([]byte("a"), most), bytes.Repeat([]byte("a"), most+1)
	pack := map[string]func([]byte) []byte{
		"br": func(data []byte) []byte {
			var b bytes.Buffer
			w := brotli.NewWriter(&b)
			w.Write(data)
			w.Close()
			return b.Bytes()
		},
		"zstd": func(data []byte) []byte {
			w, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			return w.EncodeAll(data, nil)
		},
	}
	for name, p := range pack {
		if data, err := decoders[name](p(exactly), most); err != nil || !bytes.Equal(data, exactly) {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		if _, err := decoders[name](p(more), most); err == nil {
			t.Errorf("%s: one byte more passes", name)
		}
		if _, err := decoders[name]([]byte("nonsense"), most); err == nil {
			t.Errorf("%s: nonsense passes", name)
		}
	}
}

// The real trace in protobuf has the calls of the same trace in JSON.
func TestRealProtobuf(t *testing.T) {
	const stem = "../../../../../shared/data/formats/otlp-openinference/openai_agents.otlp."
	if _, err := os.Stat(stem + "pb"); err != nil {
		t.Skipf("the recorded trace is not here: %v", err)
	}
	want, _ := trajectories.Reader{Decoders: decoders}.Read(stem + "json")
	got, problems := trajectories.Reader{Decoders: decoders}.Read(stem + "pb")
	if len(problems) > 0 || len(want) != len(got) {
		t.Fatalf("%d runs in protobuf, %d in JSON, problems %v", len(got), len(want), problems)
	}
	calls := 0
	for i := range want {
		if diff := cmp.Diff(want[i].Runs, got[i].Runs); diff != "" {
			t.Errorf("(-JSON +protobuf):\n%s", diff)
		}
		for _, run := range got[i].Runs {
			for _, turn := range run.Turns {
				calls += len(turn.Calls)
			}
		}
	}
	if calls != 4 {
		t.Errorf("%d calls, want 4", calls)
	}
}
