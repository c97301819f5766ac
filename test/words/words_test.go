package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const plainWords = `
[text]
former = previous
of which = "which"
rooms? = package

[identifiers]
former = previous

[narrative verbs]
tell told
`

// run checks the files with the words above and returns the findings without their proposals.
func run(t *testing.T, exceptions string, files map[string]string) []string {
	t.Helper()
	list, err := parseList(plainWords)
	if err != nil {
		t.Fatal(err)
	}
	allow, err := parseAllow(exceptions)
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{}
	for name, body := range files {
		tree[name] = &fstest.MapFile{Data: []byte(body)}
	}
	found, functions := []string{}, &functionCount{verbs: list.verbs}
	for name := range files {
		lines, err := checkFile(tree, name, list, allow, functions)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			line, _, _ = strings.Cut(line, ": write ")
			found = append(found, line)
		}
	}
	found = append(found, functions.over(50, allow)...)
	return append(found, allow.unused()...)
}

func TestFindsPlantedWords(t *testing.T) {
	tests := map[string]struct {
		file, body string
		want       []string
	}{
		"comment":             {"a.go", "package a\n\n// The former one.\nvar x int\n", []string{`a.go:3:8: "former"`}},
		"beside code":         {"a.go", "package a\n\nvar x int // a Former one\n", []string{`a.go:3:16: "Former"`}},
		"across lines":        {"a.go", "package a\n\n// Two, of\n// which one is.\nvar x int\n", []string{`a.go:3:9: "of which"`}},
		"two comments":        {"a.go", "package a\n\nvar x int // one of\n// which is this\nvar y int\n", nil},
		"message":             {"a.go", "package a\n\nconst x = \"the former\\nroom\"\n", []string{`a.go:3:16: "former"`, `a.go:3:24: "room"`}},
		"message, raw":        {"a.go", "package a\n\nconst x = `a\nroom`\n", []string{`a.go:4:1: "room"`}},
		"help in a tag":       {"a.go", "package a\n\ntype x struct {\n\tY int `json:\"former\" doc:\"A former one.\"`\n}\n", []string{`a.go:4:30: "former"`}},
		"name":                {"a.go", "package a\n\nfunc askFormerOne() {}\n", []string{`a.go:3:6: "askFormerOne"`}},
		"parameter":           {"a.go", "package a\n\nfunc x(former int) {}\n", []string{`a.go:3:8: "former"`}},
		"page":                {"a.md", "One, of\nwhich.\n", []string{`a.md:1:6: "of which"`}},
		"test script":         {"a.txtar", "# the former one\nexec gc\n", []string{`a.txtar:1:7: "former"`}},
		"script":              {"a.sh", "echo 'a room' # of\n  # which\n", []string{`a.sh:1:9: "room"`, `a.sh:1:17: "of which"`}},
		"script by its line":  {"scripts/a", "#!/bin/sh\n# a room\n", []string{`scripts/a:2:5: "room"`}},
		"configuration":       {"a.toml", "[former.x]\nformer = \"a former one\"\n", []string{`a.toml:2:13: "former"`}},
		"program":             {"a.js", "// one of\n// which\n", []string{`a.js:1:8: "of which"`}},
		"comment in a table":  {"a.sql", "CREATE TABLE former (\n\tx TEXT -- a former one\n)\n", []string{`a.sql:2:14: "former"`}},
		"doc comment's name":  {"a.go", "package a\n\n// Former is the name.\ntype Former int\n", []string{`a.go:4:6: "Former"`}},
		"quoted":              {"a.go", "package a\n\n// See \"former\" and `room`.\nconst x = `the \"former\" key`\n", nil},
		"value":               {"a.go", "package a\n\nconst x = \"former\"\n", nil},
		"path, option, field": {"a.txtar", "See rooms.go, docs/rooms, --former, a_former, former=1, room().\n", nil},
		"statement":           {"a.go", "package a\n\nconst x = \"SELECT former FROM x\"\nconst y = \"INSERT OR REPLACE INTO former VALUES (?)\"\n", nil},
		"other words":         {"a.go", "package a\n\n// performer, formerly, roomy: of whichever.\nvar x int\n", nil},
		"other files":         {"a.txt", "the former one\n", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := run(t, "", map[string]string{test.file: test.body}); !slices.Equal(got, test.want) && len(got)+len(test.want) > 0 {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

func TestAllowList(t *testing.T) {
	files := map[string]string{"docs/a.txtar": "the former one\n"}
	tests := map[string]struct {
		exceptions string
		want       []string
	}{
		"the file":       {"docs/a.txtar | former | a quote", nil},
		"the folder":     {"docs | Former | a quote", nil},
		"a pattern":      {"docs/*.txtar | former | a quote", nil},
		"another file":   {"docs/b.txtar | former | a quote", []string{`docs/a.txtar:1:5: "former"`, `test/words/allow.txt:1:1: "former" is not used in docs/b.txtar: remove the line`}},
		"another phrase": {"docs/a.txtar | room | a quote", []string{`docs/a.txtar:1:5: "former"`, `test/words/allow.txt:1:1: "room" is not used in docs/a.txtar: remove the line`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := run(t, test.exceptions, files); !slices.Equal(got, test.want) && len(got)+len(test.want) > 0 {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
	for _, line := range []string{"docs | former", "docs | former | ", "docs former a quote"} {
		if _, err := parseAllow(line); err == nil {
			t.Errorf("%q is accepted, want an error: an exception needs path, phrase and reason", line)
		}
	}
}

// TestDocComments plants a doc comment that begins with a narrative verb.
func TestDocComments(t *testing.T) {
	const planted = "package a\n\n// run told it to run.\nfunc run() {}\n\n// start starts it.\nfunc start() {}\n"
	got := run(t, "", map[string]string{"in/a.go": planted})
	if len(got) != 1 || !strings.Contains(got[0], `in/a.go:3:1: "run told"`) {
		t.Errorf("found %q, want the comment of run", got)
	}
	if got := run(t, "", map[string]string{"in/a_test.go": planted}); len(got) != 0 {
		t.Errorf("found %q in a test, want nothing", got)
	}
}

func TestNarrativeVerbs(t *testing.T) {
	const narrative = "package a\n\nfunc tellAll() {}\nfunc (x *y) Told() {}\nfunc teller() {}\n"
	got := run(t, "", map[string]string{"in/a.go": narrative})
	if len(got) != 2 || !strings.Contains(got[0], "2 of 3 functions (66.7%) of the product") || got[1] != "in: 2: Told tellAll" {
		t.Errorf("found %q, want the count and the package with its two functions", got)
	}
	if got := run(t, "", map[string]string{"in/a_test.go": narrative}); len(got) != 2 || !strings.Contains(got[0], "2 of 3 functions (66.7%) of the tests") {
		t.Errorf("found %q, want the count of the tests", got)
	}
	if got := run(t, "in/a.go | tellAll | the field's own term", map[string]string{"in/a.go": narrative}); len(got) != 0 {
		t.Errorf("found %q, want nothing: 1 of 3 functions is below the limit", got)
	}
}

func TestTheListsAreValid(t *testing.T) {
	list, err := parseList(words)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.phrases) < 30 || len(list.verbs) < 30 {
		t.Errorf("read %d phrases and %d verbs: the list is cut", len(list.phrases), len(list.verbs))
	}
	if _, err := parseAllow(allowed); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"[text]\nformer", "[text]\n( = x", "[other]\na = b"} {
		if _, err := parseList(source); err == nil {
			t.Errorf("the list %q is accepted, want an error", source)
		}
	}
}
