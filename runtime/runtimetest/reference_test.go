package runtimetest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/runtime/runtimetest"
)

var update = flag.Bool("update", false, "write docs/reference/contract.md")

// needTexts explains each need to a reader.
var needTexts = map[runtimetest.Need]string{
	runtimetest.NeedActivity:   "the capability to report activity",
	runtimetest.NeedAttachment: "the capability to report attachment",
	runtimetest.NeedTerminal:   "the capability to attach a terminal",
	runtimetest.NeedReopen:     "sessions that outlive the provider value",
	runtimetest.NeedElsewhere:  "a harness with a second process",
}

func TestReferenceIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "contract.md")
	want := reference(runtimetest.Cases())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // documentation is public
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the cases say; run make gen", path)
	}
}

func reference(cases []runtimetest.Case) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# The contract of a provider

Generated from runtime/runtimetest; run make gen after a change.

Each sentence is a rule for every provider. It has an id, and a case of the conformance suite tests it. TestConformance of a driver
and gc provider check report the same ids. A case with a need is not applicable to a provider that
does not have it. The Go interfaces and their comments are in package runtime. %d cases.
`, len(cases))
	facet := ""
	for _, c := range cases {
		if name, _, _ := strings.Cut(c.ID, "."); name != facet {
			facet = name
			fmt.Fprintf(&b, "\n## %s\n\n| id | rule | needs |\n|---|---|---|\n", facet)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.ID, strings.ReplaceAll(c.Sentence, "<name>", "&lt;name&gt;"), needs(c))
	}
	return b.String()
}

func needs(c runtimetest.Case) string {
	var parts []string
	for _, need := range c.Needs {
		text, ok := needTexts[need]
		if !ok {
			text = "the extension " + string(need)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
