package trajectories

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
)

// The words that mean success and failure, in lower case.
var (
	successWords = []string{"success", "successful", "succeeded", "pass", "passed", "true", "1", "yes", "ok", "resolved", "solved", "correct", "healthy", "good"}
	failureWords = []string{"failure", "fail", "failed", "false", "0", "no", "unresolved", "unsolved", "unsuccessful", "incorrect", "wrong", "error", "runaway", "bad",
		"incomplete", "hallucinated", "arithmetic_error"} // the last three are Sentinel's
)

// The words of labels that a folder with runs may have as its name.
var (
	successFolders = []string{"success", "successes", "successful", "succeeded", "pass", "passed", "resolved", "solved", "correct", "good", "healthy"}
	failureFolders = []string{"failure", "failures", "fail", "failed", "unresolved", "unsolved", "unsuccessful", "incorrect", "wrong", "bad", "runaway", "runaways"}
)

// labelOfFolder returns the label that a name of a folder is, "" for none.
func labelOfFolder(name string) Label {
	switch name = strings.ToLower(name); {
	case slices.Contains(successFolders, name):
		return Success
	case slices.Contains(failureFolders, name):
		return Failure
	}
	return Unlabelled
}

// labelWords is what a label may be, for messages.
const labelWords = "success or failure, pass or fail, true or false, 1 or 0, resolved or unresolved, healthy or runaway"

// labelOf returns the label that a JSON value means: a boolean, 1 or 0, or one of the
// words in any case. null and the empty text mean unlabelled. It reports whether it
// knows the value.
func labelOf(raw json.RawMessage) (Label, bool) {
	var value any
	if len(raw) > 0 && json.Unmarshal(raw, &value) != nil {
		return Unlabelled, false
	}
	switch v := value.(type) {
	case nil:
		return Unlabelled, true
	case string:
		return labelOfWord(v)
	case bool, float64: // 1.0 is 1
		return labelOfWord(fmt.Sprint(v))
	}
	return Unlabelled, false
}

func labelOfWord(word string) (Label, bool) {
	word = strings.ToLower(strings.TrimSpace(word))
	switch {
	case word == "":
		return Unlabelled, true
	case slices.Contains(successWords, word):
		return Success, true
	case slices.Contains(failureWords, word):
		return Failure, true
	}
	return Unlabelled, false
}

// A labelError says that a source has a label that is not known.
type labelError struct {
	key   string
	value string
}

func (e labelError) Error() string {
	return fmt.Sprintf("%s must be %s, not %s", e.key, labelWords, text.Quote(e.value, 40))
}

// said sets the label that a source gives under a key. Its error is a labelError, and
// leaves the run unlabelled.
func (r *Trajectory) said(key string, raw json.RawMessage) error {
	label, known := labelOf(raw)
	if !known {
		return labelError{key, strings.Trim(string(raw), `"`)}
	}
	if label != Unlabelled {
		r.Label = label
	}
	return nil
}

// labelFields are the fields in which people write down whether a run was a success.
var labelFields = []string{"success", "label", "passed", "resolved", "correct", "is_correct"}

// saidIn sets the label from the fields of a run.
func (r *Trajectory) saidIn(keys map[string]json.RawMessage) (err error) {
	for _, field := range labelFields {
		if bad := r.said(field, keys[field]); bad != nil {
			err = bad
		}
	}
	if r.Label == Unlabelled && err == nil && keys["reward"] != nil {
		err = r.reward("reward", keys["reward"])
	}
	return err
}

// reward is said for a label that may also be a reward: 1 means success, any other
// number failure.
func (r *Trajectory) reward(key string, raw json.RawMessage) error {
	var reward *float64
	if json.Unmarshal(raw, &reward) != nil || reward == nil {
		return r.said(key, raw)
	}
	r.Label = Failure
	if *reward == 1 {
		r.Label = Success
	}
	return nil
}
