package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/drive"
	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/spf13/cobra"
)

// A prompt reads what the user types to a model and shows the model's replies.
type prompt struct {
	out     io.Writer
	lines   <-chan string
	redact  func(string) string
	held    string // the part of a reply that is not shown yet
	said    bool   // the reply has a text
	newLine bool   // the cursor is at the beginning of a line
}

// maxLine is the longest line that the prompt reads, in bytes.
const maxLine = 1 << 20

// talk lets the user talk to the model, and records the conversation.
func (f *recordFlags) talk(cmd *cobra.Command, s *drive.Session, path string) error {
	if err := checkKey(cmd.Context(), s.Settings); err != nil {
		return err
	}
	p := &prompt{out: cmd.OutOrStdout(), lines: readLines(cmd.Context(), cmd.InOrStdin()), redact: terminal(s), newLine: true}
	fmt.Fprintf(p.out, "%s at %s; an empty line or Ctrl-D ends the conversation\n", text.Line(s.Settings.Model), text.Line(hostOf(s.Settings.BaseURL)))
	task, ok := p.next(cmd.Context())
	if !ok {
		fmt.Fprintln(p.out, "you wrote nothing, so nothing is recorded")
		if cmd.Context().Err() != nil {
			return exitCode(exitInterrupted)
		}
		return nil
	}
	scenario := *s.Scenario
	scenario.Script.Task = task
	s.Scenario = &scenario
	progress := f.progress(p, s)
	s.Piece, s.Watch = p.piece, progress
	s.People = loop.LiveOptions{
		FollowUp: func(ctx context.Context, last loop.Outcome) (string, bool) {
			p.ended(last)
			return p.next(ctx)
		},
		Ask: func(ctx context.Context, question string) (string, bool) {
			fmt.Fprintf(p, "%s (your answer, or an empty line to stop)\n", text.Line(p.redact(question)))
			return p.next(ctx)
		},
		// The arguments are not redacted: the user decides about them.
		Approve: func(ctx context.Context, tool, args string) (bool, string) {
			fmt.Fprintf(p, "allow %s(%s)? (y to allow, anything else is your reason to deny it)\n", text.Line(tool), text.Cut(text.Line(args), 200))
			text, _ := p.next(ctx)
			if yes := strings.ToLower(text); yes == "y" || yes == "yes" {
				return true, ""
			}
			return false, text
		},
	}
	err := f.record(cmd, s, path)
	p.flush()
	return err
}

// next asks for a line. It returns false for an empty line, at the end of the
// input and when ctx is done.
func (p *prompt) next(ctx context.Context) (string, bool) {
	p.flush()
	fmt.Fprint(p, "> ")
	select {
	case text, ok := <-p.lines:
		p.newLine = true // the reader's
		if text = strings.TrimSpace(text); ok && text != "" {
			return text, true
		}
	case <-ctx.Done():
	}
	fmt.Fprintln(p.out)
	return "", false
}

// readLines reads lines until the input ends or ctx is done. A read cannot be
// interrupted, so its goroutine may last until the program ends.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxLine)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// maxHeld is how much of a reply is held back until its line ends, in bytes.
const maxHeld = 64 << 10

// piece adds a piece of a reply and shows the lines that are complete, because a
// secret may come in pieces. A private key has many lines; it is held back as a
// whole.
func (p *prompt) piece(s string) {
	if s == "" {
		return
	}
	p.said = true
	p.held += s
	end := strings.LastIndexByte(p.held, '\n') + 1
	if begin := strings.LastIndex(p.held, "-----BEGIN"); begin >= 0 && !strings.Contains(p.held[begin:], "-----END") {
		end = min(end, strings.LastIndexByte(p.held[:begin], '\n')+1)
	}
	if len(p.held) > maxHeld {
		end = len(p.held)
	}
	p.show(p.held[:end])
	p.held = p.held[end:]
}

// flush shows the part that is held back.
func (p *prompt) flush() {
	held := p.held
	p.held = ""
	p.show(held)
}

// show shows a part of a reply. Its last line may be incomplete.
func (p *prompt) show(s string) {
	if s == "" {
		return
	}
	s = p.redact(s)
	p.newLine = strings.HasSuffix(s, "\n")
	shown := text.Lines(s)
	if !p.newLine {
		shown = strings.TrimSuffix(shown, "\n")
	}
	io.WriteString(p.out, shown)
}

// Write writes b on a new line, after the part that is held back.
func (p *prompt) Write(b []byte) (int, error) {
	p.flush()
	if !p.newLine {
		io.WriteString(p.out, "\n")
	}
	p.newLine = len(b) > 0 && b[len(b)-1] == '\n'
	return p.out.Write(b)
}

// ended shows the answer of a run if it was not streamed, and how the run ended
// if it was not DONE: what the loop says to the user, and the reason.
func (p *prompt) ended(out loop.Outcome) {
	switch {
	case !p.said && out.Answer != "":
		p.piece(out.Answer)
	case !p.said && out.End == loop.Done:
		fmt.Fprintln(p, "(there is no answer)")
	}
	p.flush()
	if out.Message != "" && out.Message != out.Reason {
		fmt.Fprintln(p, text.Line(p.redact(out.Message)))
	}
	if out.End != loop.Done {
		fmt.Fprintf(p, "(%s: %s)\n", out.End, text.Line(p.redact(cmp.Or(out.Reason, string(out.Stop)))))
	}
	p.said = false
}

// keyTimeout is the time limit for checking a key.
const keyTimeout = 15 * time.Second

// checkKey asks the endpoint for its models before the user types anything, which
// costs nothing. It returns an error if the endpoint is unreachable or rejects the
// key; an endpoint without a list of models is fine.
func checkKey(ctx context.Context, s endpoint.Settings) error {
	if s.Key.Reveal() == "" && s.BaseURL == endpoint.OpenAI {
		return misuse("set "+keyVariable+", or write it to a file .env", "there is no key for %s", hostOf(s.BaseURL))
	}
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.BaseURL, "/")+"/models", nil)
	if err != nil {
		return misuse("", "%s", err)
	}
	if key := s.Key.Reveal(); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := network().RoundTrip(req)
	switch {
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return exitCode(exitInterrupted)
	case err != nil:
		return fmt.Errorf("%s cannot be reached: %s", hostOf(s.BaseURL), s.Key.Hide(err.Error()))
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return misuse("check the variable "+keyVariable, "%s rejects the key (status %d)", hostOf(s.BaseURL), resp.StatusCode)
	}
	return nil
}
