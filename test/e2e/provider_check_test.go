package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckOfASmallScript: gc provider check starts an agent in a terminal for a session script that types prompts, also if the script
// declares nothing.
func TestCheckOfASmallScript(t *testing.T) {
	c := newCity(t, 0)
	file := filepath.Join(c.root, "sessions.sh")
	script := `#!/bin/sh
case $1 in
start | stop | is-running | peek | nudge) exec "` + c.gc + `" provider serve pty "$@" ;;
*) exit 2 ;;
esac
`
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	out, err := c.runGC(t.Context(), "provider", "check", "exec:"+file, "-v")
	for _, operation := range []string{"start", "peek", "nudge", "stop"} {
		if err != nil || !strings.Contains(out, "ok    "+operation+" ") {
			t.Fatalf("gc provider check (%v) has no success of %s:\n%s", err, operation, out)
		}
	}
}
