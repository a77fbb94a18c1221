package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fencedCode = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	inlineLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	idOfTag    = regexp.MustCompile(`<a id="([^"]+)">`)
	noLetter   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	pageInCode = regexp.MustCompile(`\bdocs/[a-z-]+\.md(?:#[a-z0-9-]+)?`)
)

// TestLinks follows every link of the pages that leads into the repository, to its file
// and to its heading, and each mention of a page of docs in Go code. The index has every
// page.
func TestLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/*.md", "examples/*/*/*.md"} {
		some, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, some...)
	}
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, page := range pages {
		for _, broken := range brokenLinks(page, read(page)) {
			t.Errorf("%s: %s", page, broken)
		}
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if filepath.Base(filepath.Dir(page)) == "docs" && name != "README.md" && !strings.Contains(read(filepath.Join(root, "docs", "README.md")), "("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
	for file := range sources(t) {
		for _, mention := range pageInCode.FindAllString(read(filepath.Join(root, file)), -1) {
			for _, broken := range brokenLinks(filepath.Join(root, "README.md"), "[]("+mention+")") {
				t.Errorf("%s: %s", file, broken)
			}
		}
	}
}

// brokenLinks returns what is wrong with the links of a page, as far as they are relative.
func brokenLinks(page, text string) (broken []string) {
	text = inlineCode.ReplaceAllString(fencedCode.ReplaceAllString(text, ""), "")
	for _, m := range inlineLink.FindAllStringSubmatch(text, -1) {
		file, anchor, _ := strings.Cut(m[1], "#")
		if strings.Contains(file, ":") {
			continue // another site
		}
		target := page
		if file != "" {
			target = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
		}
		there := text
		if target != page {
			info, err := os.Stat(target)
			if err != nil {
				broken = append(broken, fmt.Sprintf("%s leads to no file", m[1]))
				continue
			}
			if info.IsDir() || anchor == "" {
				continue
			}
			content, err := os.ReadFile(target)
			if err != nil {
				broken = append(broken, err.Error())
				continue
			}
			there = string(content)
		}
		if anchor != "" && !slices.Contains(anchors(there), anchor) {
			broken = append(broken, fmt.Sprintf("%s leads to no heading", m[1]))
		}
	}
	return broken
}

// anchors returns the anchors of a page, as GitHub makes them of headings: lower case,
// without punctuation, with - for a space, and numbered from the second of a name on.
func anchors(text string) []string {
	text = fencedCode.ReplaceAllString(text, "")
	var all []string
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.ReplaceAll(noLetter.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if n := seen[name]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", name, n))
		} else {
			all = append(all, name)
		}
		seen[name]++
	}
	for _, m := range idOfTag.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// TestBrokenLinks tests the test.
func TestBrokenLinks(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "a.md")
	for name, text := range map[string]string{"a.md": "", "b.md": "# What's `--ci`, and why?\n## Twice\n## Twice\n<a id=\"old\"></a>\n```\n# no heading\n```\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"[x](b.md) [x](.) [x](https://example.org/none.md) ![x](b.md)": "",
		"[x](b.md#whats---ci-and-why) [x](b.md#twice-1) [x](b.md#old)": "",
		"# Here\n[x](#here)":                                               "",
		"`[x](none.md)`\n```\n[x](none.md)\n```\n":                         "",
		"[x](none.md) [x](none.md#here)":                                   "none.md leads to no file; none.md#here leads to no file",
		"[x](b.md#twice-2) [x](b.md#no-heading) [x](#there) ![x](none.md)": "b.md#twice-2 leads to no heading; b.md#no-heading leads to no heading; #there leads to no heading; none.md leads to no file",
	} {
		if got := strings.Join(brokenLinks(page, text), "; "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
