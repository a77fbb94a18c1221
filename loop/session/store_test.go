package session_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/session"
)

const stored = "   0.000s started text=go\n          > ask m1#1 for=reply to=1\n   1.000s tick\n"

func parsed(t testing.TB, text string) loop.Trace {
	t.Helper()
	trace, err := loop.ParseTrace(text)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func folder(t testing.TB, path string) *session.Folder {
	t.Helper()
	d, err := session.Dir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestStores(t *testing.T) {
	dir := folder(t, filepath.Join(t.TempDir(), "new"))
	for name, store := range map[string]session.Store{"memory": session.Memory(), "dir": dir} {
		t.Run(name, func(t *testing.T) {
			if _, err := store.Load("a"); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("Load of an unknown session: got %v, want ErrNotFound", err)
			}
			trace := parsed(t, stored)
			for _, r := range trace {
				if err := store.Append("a", loop.Trace{r}); err != nil {
					t.Fatal(err)
				}
			}
			if err := store.Append("a", trace[:1]); !errors.Is(err, session.ErrExists) {
				t.Errorf("beginning it again: got %v, want ErrExists", err)
			}
			got, err := store.Load("a")
			if err != nil || got.String() != stored {
				t.Errorf("loaded %q, %v, want %q", got, err, stored)
			}
		})
	}
	for _, bad := range []string{"", ".", "..", "a/b", "../x", "a b", "é", strings.Repeat("a", 201)} {
		if err := dir.Append(bad, nil); err == nil {
			t.Errorf("a session may be called %q", bad)
		}
	}
}

// A file that is cut off anywhere holds what the appends before it wrote, and
// takes the next append.
func TestFolderTorn(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, "s.trace")
	trace := parsed(t, stored+"   2.000s reply m1 text=\"# saved 00000000\\n# saved 00000000\"\n          > halt stop=done\n")
	d := folder(t, path)
	var ends []int64 // of the appends
	for _, r := range trace {
		if err := d.Append("s", loop.Trace{r}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, info.Size())
	}
	d.Close()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for size := range len(whole) + 1 {
		for _, tail := range []string{"", "\x00\x00\x00", "# saved 12345678\n"} {
			n := 0
			for n < len(ends) && ends[n] <= int64(size) {
				n++
			}
			if size < len("# agentbench session v1\n") && tail != "" {
				continue // that is not what a crash leaves behind
			}
			if err := os.WriteFile(file, append(whole[:size:size], tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			d := folder(t, path)
			got, err := d.Load("s")
			if n == 0 && !errors.Is(err, session.ErrNotFound) || n > 0 && (err != nil || got.String() != trace[:n].String()) {
				t.Fatalf("cut after %d bytes, with %q behind, it loads as %v\n%s\nwant %d records", size, tail, err, got, n)
			}
			if size%10 != 0 { // an append waits for the disk
				d.Close()
				continue
			}
			if err := d.Append("s", trace[n:]); err != nil {
				t.Fatal(err)
			}
			d.Close()
			d = folder(t, path)
			if got, err := d.Load("s"); err != nil || got.String() != trace.String() {
				t.Fatalf("cut after %d bytes, with %q behind, and appended to, it loads as %v\n%s", size, tail, err, got)
			}
			d.Close()
		}
	}
}

// What no crash can have done is an error, and leaves the file as it is.
func TestFolderDamaged(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, "s.trace")
	d := folder(t, path)
	for _, r := range parsed(t, stored) {
		if err := d.Append("s", loop.Trace{r}); err != nil {
			t.Fatal(err)
		}
	}
	d.Close()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ text, want string }{
		{strings.Replace(string(whole), "text=go", "text=no", 1), "line 4: the checksum does not match: the lines above it were changed"},
		{stored, `line 1: not a session file: the first line must be "# agentbench session v1"`},
	} {
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		d := folder(t, path)
		for _, err := range []error{func() error { _, err := d.Load("s"); return err }(), d.Append("s", parsed(t, stored)[1:])} {
			if want := file + ": " + tt.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != tt.text {
			t.Errorf("the file became %q, %v", got, err)
		}
	}
}

// A session belongs to the first store that uses it until that releases it.
// Other sessions of the folder do not.
func TestFolderInUse(t *testing.T) {
	path, trace := t.TempDir(), parsed(t, stored)
	a, b := folder(t, path), folder(t, path)
	if err := a.Append("s", trace); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Load("s"); !errors.Is(err, session.ErrInUse) {
		t.Errorf("a second store loads it with %v, want ErrInUse", err)
	}
	if err := b.Append("s", trace[1:]); !errors.Is(err, session.ErrInUse) {
		t.Errorf("a second store appends to it with %v, want ErrInUse", err)
	}
	if err := b.Append("other", trace); err != nil {
		t.Errorf("another session: got %v", err)
	}
	if err := a.Release("s"); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Load("s"); err != nil || got.String() != stored {
		t.Errorf("given back, it loads as %q, %v", got, err)
	}
}

// The lock ends with the process that has it, however that ends.
func TestFolderLockEnds(t *testing.T) {
	path := t.TempDir()
	cmd := child("lock", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "taken\n" {
		t.Fatalf("the process says %q, %v", line, err)
	}
	d := folder(t, path)
	if _, err := d.Load("s"); !errors.Is(err, session.ErrInUse) {
		t.Errorf("beside the process the session loads with %v, want ErrInUse", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if got, err := d.Load("s"); err != nil || got.String() != stored {
		t.Errorf("after the process the session loads as %q, %v", got, err)
	}
}

// takeLock takes a session, says so, and keeps it until the process is killed.
func takeLock(path string) error {
	d, err := session.Dir(path)
	if err != nil {
		return err
	}
	trace, err := loop.ParseTrace(stored)
	if err != nil {
		return err
	}
	if err := d.Append("s", trace); err != nil {
		return err
	}
	fmt.Println("taken")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
