package runtime_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/runtime"
)

var update = flag.Bool("update", false, "write docs/reference/fingerprint.md")

func TestReferenceIsCurrent(t *testing.T) {
	path := filepath.Join("..", "docs", "reference", "fingerprint.md")
	want := reference()
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
		t.Errorf("%s is not what the table says; run make gen", path)
	}
}

func reference() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Fingerprints

Generated from runtime.Fields; run make gen after a change.

A fingerprint is a hash of the configuration that a session was started with. It has three parts, called halves: provision,
launch and live. If a part changes, the session has drifted, and the part that changed decides what happens. Hashes are written `+"`%s:<64 hex>`"+`. A stored hash of another version is replaced silently:
it never means drift. Order in maps, recreated identical files, modes and times of files, observation hints and values of
credentials never change a hash.

| part (half) | what it is about | effect if only this part changes |
|---|---|---|
| provision | what the sandbox of the agent is created from | restart: stop and start |
| launch | what runs in the sandbox | relaunch in the same sandbox; restart if the agent itself is the sandbox |
| live | what can be applied while the agent runs | run the live commands; the agent continues |
| none | never hashed | nothing; the next start uses it |

Provision and launch together are the core. The fields of a session's configuration:

| field | part | effect of a change | what is hashed |
|---|---|---|---|
`, runtime.FingerprintVersion)
	for _, f := range runtime.Fields() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Half, f.Effect, f.Note)
	}
	return b.String()
}
