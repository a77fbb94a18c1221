package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// release writes a release v9.8.7 with one program into a folder. sum changes its checksum.
func release(t *testing.T, content string, sum func(string) string) string {
	t.Helper()
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	files := tar.NewWriter(packed)
	if err := files.WriteHeader(&tar.Header{Name: "agentbench", Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{func() error { _, err := files.Write([]byte(content)); return err }, files.Close, packed.Close} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	name := fmt.Sprintf("agentbench_9.8.7_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	lay(t, filepath.Join(dir, "v9.8.7"), map[string]string{name: b.String(),
		"checksums.txt": strings.Repeat("0", 64) + "  agentbench_9.8.7_plan9_mips.tar.gz\n" + sum(fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))) + "  " + name + "\n"})
	return dir
}

// The installer installs what has its checksum, and nothing else.
func TestInstaller(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no curl")
	}
	same := func(s string) string { return s }
	other := func(s string) string { return strings.Repeat("f", len(s)) }
	install := func(releases string, args ...string) (dir, said string, code int) {
		dir = filepath.Join(t.TempDir(), "bin")
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "DIR", dir)
		}
		cmd := exec.Command("sh", append([]string{"../../.github/release/install.sh"}, args...)...)
		cmd.Env = append(os.Environ(), "AGENTBENCH_RELEASES=file://"+releases)
		out, _ := cmd.CombinedOutput()
		return dir, string(out), cmd.ProcessState.ExitCode()
	}
	dir, said, code := install(release(t, "the program", same), "v9.8.7", "DIR")
	installed := filepath.Join(dir, "agentbench")
	content, err := os.ReadFile(installed)
	if info, statErr := os.Stat(installed); code != 0 || err != nil || statErr != nil || string(content) != "the program" || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("exit code %d, %q, %v\n%s", code, content, err, said)
	}
	for _, c := range []struct {
		why, releases string
		args          []string
		says          string
	}{
		{"another checksum", release(t, "the program", other), []string{"v9.8.7", "DIR"}, "is not the one in checksums.txt: nothing is installed"},
		{"no checksum", release(t, "the program", func(string) string { return "" }), []string{"v9.8.7", "DIR"}, "nothing is installed"},
		{"no such release", release(t, "the program", same), []string{"v9.8.8", "DIR"}, "cannot fetch "},
		{"no version", release(t, "the program", same), nil, "which release?"},
	} {
		if dir, said, code := install(c.releases, c.args...); code != 1 || !strings.Contains(said, c.says) {
			t.Errorf("%s: exit code %d, want 1 and %q\n%s", c.why, code, c.says, said)
		} else if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: something is installed", c.why)
		}
	}
}

// The formula has the archive and the checksum of each system, and is not made without
// all of them.
func TestFormula(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	var sums strings.Builder
	systems := []string{"darwin_arm64", "darwin_amd64", "linux_arm64", "linux_amd64"}
	for i, system := range systems {
		fmt.Fprintf(&sums, "%s  agentbench_9.8.7_%s.tar.gz\n", strings.Repeat(fmt.Sprint(i), 64), system)
	}
	formula := func(sums string) (string, int) {
		dir := t.TempDir()
		lay(t, dir, map[string]string{"checksums.txt": sums})
		cmd := exec.Command("sh", "../../.github/release/formula.sh", "v9.8.7", filepath.Join(dir, "checksums.txt"))
		out, _ := cmd.Output()
		return string(out), cmd.ProcessState.ExitCode()
	}
	text, code := formula(sums.String())
	if code != 0 || !strings.Contains(text, "  version \"9.8.7\"\n") {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	for i, system := range systems {
		want := fmt.Sprintf("      url \"https://github.com/agentbench-go/agentbench/releases/download/v9.8.7/agentbench_9.8.7_%s.tar.gz\"\n      sha256 \"%s\"\n", system, strings.Repeat(fmt.Sprint(i), 64))
		on := "on_intel"
		if strings.HasSuffix(system, "arm64") {
			on = "on_arm"
		}
		if !strings.Contains(text, "    "+on+" do\n"+want+"    end\n") {
			t.Errorf("there is no\n%sin %s of\n%s", want, on, text)
		}
	}
	if text, code := formula(strings.SplitN(sums.String(), "\n", 2)[1]); code != 1 || text != "" {
		t.Errorf("without a checksum: exit code %d\n%s", code, text)
	}
}
