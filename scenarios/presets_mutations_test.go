package scenarios

import "testing"

// presetSees is what the identity of a call is made of, by the source of each
// rule: raw = the arguments as written, args = parsed arguments, text = parsed
// arguments and the reply's text. Presets that are not here look at no
// arguments: they have caps, or count failures of a turn or a tool.
//
// The sources of Gemini CLI and opencode write parsed arguments out again without
// sorting their keys: white space and 1.0 make no difference there, which their
// files say. Here arguments are compared as written.
var presetSees = map[string]string{
	"hpd-as-coded": "raw", "gemini-cli-2025": "raw", "gemini-cli-2026": "raw", "crush": "raw", "opencode": "raw",
	"openhands-v0": "text", "openhands-v1": "text",
	"recommended": "args", "hpd-agent": "args", "hpd-production": "args", "hpd-development": "args", "hpd-long-running": "args",
	"openclaw": "args", "cline": "args", "roo-code": "args", "crewai": "args", "zeroclaw": "args", "qwen-code-0.24": "args",
	"qwen-code-0.24-heuristics": "args", "hermes-agent": "args", "deer-flow": "args",
}

// defeats reports whether a mutation makes every call a new one to an identity.
func (m *mutation) defeats(sees string) bool {
	switch m.sees {
	case "raw":
		return sees == "raw"
	case "args":
		return sees != ""
	case "text":
		return sees == "text"
	}
	return false
}

// Each mutation of each base script has the effect on each preset that the
// preset's identity of a call says: none, or that of new calls only.
func TestPresetMutations(t *testing.T) {
	for _, preset := range Presets() {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			if presetCaps[preset] == "" {
				t.Skip("TestPresetTable says that the preset is in no table")
			}
			cfg := presetOf(t, preset)
			for _, b := range baseScripts {
				for _, m := range mutations {
					of := presetCells
					if m.defeats(presetSees[preset]) {
						of = presetFresh
					}
					p := play(t, cfg, b.script(m), presetRequests+1)
					if got, want := p.cell(), expected(of, preset, b.name); got != want {
						t.Errorf("%s, %s: got %s, want %s", b.name, m.name, got, want)
					}
				}
			}
		})
	}
}

// What is called a mutation is one: no two turns have the same arguments, text
// or id.
func TestMutations(t *testing.T) {
	for _, m := range mutations {
		seen := map[string]int{}
		for turn := 1; turn <= presetRequests; turn++ {
			key := m.arguments(turn)
			if m.text != nil {
				key += m.text(turn)
			}
			if m.id != nil {
				key += m.id(turn)
			}
			if before := seen[key]; before > 0 && m.name != oneID.name {
				t.Fatalf("%s: turns %d and %d are alike: %s", m.name, before, turn, key)
			}
			seen[key] = turn
		}
	}
}
