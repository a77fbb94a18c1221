package watch

import (
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// entries are the roots of a scope, and the nodes whose request did not repeat the
// history, so that a request finds those that begin as it does. Each list is oldest
// first.
type entries struct {
	byFirst map[uint64][]*node // by the hash of the first message
	said    []*node            // that the assistant begins, or whose first message has calls
	empty   []*node            // without messages
}

// first returns the hash of a message that begins a history, and whether only messages
// with that hash can repeat it: the assistant's, and calls, are compared otherwise.
func first(k wire.Key) (hash uint64, ok bool) {
	return maphash.String(seed, k.Text()), k.Role() != wire.Assistant && len(k.IDs()) == 0
}

func (e *entries) add(n *node) {
	if len(n.asked) == 0 {
		e.empty = append(e.empty, n)
		return
	}
	if hash, ok := first(n.asked[0]); ok {
		e.byFirst[hash] = append(e.byFirst[hash], n)
	} else {
		e.said = append(e.said, n)
	}
}

func (e *entries) forget(n *node) {
	is := func(other *node) bool { return other == n }
	switch {
	case !n.anew:
		return
	case len(n.asked) == 0:
		e.empty = slices.DeleteFunc(e.empty, is)
		return
	}
	hash, ok := first(n.asked[0])
	if !ok {
		e.said = slices.DeleteFunc(e.said, is)
	} else if e.byFirst[hash] = slices.DeleteFunc(e.byFirst[hash], is); len(e.byFirst[hash]) == 0 {
		delete(e.byFirst, hash)
	}
}

// like yields the entries that a history may repeat, newest first.
func (e *entries) like(keys []wire.Key) iter.Seq[*node] {
	lists := [][]*node{e.empty, nil, nil}
	if len(keys) > 0 {
		hash, ok := first(keys[0])
		lists[1] = e.byFirst[hash]
		if !ok {
			lists[2] = e.said
		}
	}
	return func(yield func(*node) bool) {
		for range compared {
			newest := -1
			for i, some := range lists {
				if len(some) > 0 && (newest < 0 || some[len(some)-1].number > lists[newest][len(lists[newest])-1].number) {
					newest = i
				}
			}
			if newest < 0 || !yield(lists[newest][len(lists[newest])-1]) {
				return
			}
			lists[newest] = lists[newest][:len(lists[newest])-1]
		}
	}
}

// summaries are the nodes whose reply may be a summary that the agent puts in place of
// the history, by some words in its middle.
type summaries map[string][]*node

// A summary has at least so many letters. It is looked for by so many words in a row,
// after its first one; "" stands for a text with fewer.
const (
	leastLetters = 80
	someWords    = 5
)

// wordsOf returns the words by which a summary is looked for.
func wordsOf(summary string) string {
	_, rest, _ := strings.Cut(summary, " ")
	end := 0
	for range someWords {
		at := strings.IndexByte(rest[end:], ' ')
		if at < 0 {
			return ""
		}
		end += at + 1
	}
	return rest[:end-1]
}

// mayBeSummary reports whether a node's reply may be a summary.
func mayBeSummary(n *node) bool {
	return len(n.reply.Calls) == 0 && len(n.said.Text()) >= leastLetters && n.parent != nil
}

func (s summaries) add(n *node) {
	if mayBeSummary(n) {
		words := wordsOf(n.said.Text())
		s[words] = append(s[words], n)
	}
}

func (s summaries) forget(n *node) {
	if !mayBeSummary(n) {
		return
	}
	words := wordsOf(n.said.Text())
	if s[words] = slices.DeleteFunc(s[words], func(other *node) bool { return other == n }); len(s[words]) == 0 {
		delete(s, words)
	}
}

// in returns the newest tip whose reply was a summary that the user repeats in a request
// in place of the history, and the place after it.
func (s summaries) in(t *wire.Turn, keys []wire.Key) (best *node, pos int) {
	look := func(words string, i int) {
		some := s[words]
		for _, n := range some[max(0, len(some)-compared):] {
			if n == n.of.tip && n.of.system == t.System && (best == nil || n.of.number > best.of.number) && strings.Contains(keys[i].Text(), n.said.Text()) {
				best, pos = n, i+1
			}
		}
	}
	for i, k := range keys {
		if len(s) == 0 {
			break
		}
		if k.Role() != wire.User || len(k.Text()) < leastLetters {
			continue
		}
		look("", i)
		for words := range inARow(k.Text()) {
			look(words, i)
		}
	}
	return best, pos
}

// inARow yields each [someWords] words in a row of a text.
func inARow(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var starts [someWords]int // of the latest words
		n, start := 0, 0
		for end := 0; end <= len(text); end++ {
			if end < len(text) && text[end] != ' ' {
				continue
			}
			starts[n%someWords] = start
			if n++; n >= someWords && !yield(text[starts[n%someWords]:end]) {
				return
			}
			start = end + 1
		}
	}
}
