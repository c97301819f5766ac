package event

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write generated files")

// TestKindsAreDistinctAndExplained checks that each kind of event is in the table once, has a name
// such as session.started, and an explanation.
func TestKindsAreDistinctAndExplained(t *testing.T) {
	seen := map[Kind]bool{}
	for _, k := range Kinds() {
		noun, verb, ok := strings.Cut(string(k.Kind), ".")
		if seen[k.Kind] || !ok || noun == "" || verb == "" || k.Meaning == "" {
			t.Errorf("row %+v is double, unexplained or not noun.verb", k)
		}
		seen[k.Kind] = true
	}
}

// TestEventReferenceIsCurrent checks that docs/reference/events.md is what the table of kinds
// generates.
func TestEventReferenceIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "events.md")
	want := Reference()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/events.md is not what the kinds say; run make gen:\n%s", diff)
	}
}

// Reference returns docs/reference/events.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Events

Generated from internal/domain/event; run make gen after a change.

A city (the agents of one ` + "`city.toml`" + `) has one timeline. Every event has an id. Each id is larger than the id before it. To continue a stream, send
the last id that you read. An event describes something that has happened. Before you act on an event, read the status. Data values are strings, and
any key may be absent. An event about a running session also has the run id of that session, as data "run". Readers ignore kinds and keys that they do
not know.

| kind | meaning | data |
|---|---|---|
`)
	for _, k := range Kinds() {
		var data []string
		for _, d := range k.Data {
			data = append(data, fmt.Sprintf("`%s`: %s", d.Key, d.Meaning))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Kind, k.Meaning, strings.Join(data, "; "))
	}
	return b.String()
}
