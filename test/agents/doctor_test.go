package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/client"
	"gascity/test/agents/bed"
)

// TestTheDoctorAsks has gc doctor --ask try the CLIs of a city: the one that a
// city uses answers, in a city of the doctor's own, and nothing is left behind.
func TestTheDoctorAsks(t *testing.T) {
	together(t)
	for _, name := range driven("claude", "pi", "codex", "gemini", "opencode") {
		t.Run(name, func(t *testing.T) {
			together(t)
			c := bed.Open(t, "pty", bed.Member{Name: "a", CLI: name, Bare: true})
			a, home := of(t, c, "a"), filepath.Join(c.Root, "nobody")
			if err := os.MkdirAll(home, 0o700); err != nil {
				t.Fatal(err)
			}
			out, err := c.Run(t.Context(), "doctor", "--ask", "--json", "--verbose")
			var document struct{ Findings []client.Finding }
			if err := json.NewDecoder(strings.NewReader(out[max(0, strings.Index(out, "{")):])).Decode(&document); err != nil {
				t.Fatalf("gc doctor --ask --json: %v\n%s", err, out)
			}
			findings := document.Findings
			at := slices.IndexFunc(findings, func(f client.Finding) bool { return f.Check == "answer.a" })
			if at < 0 || findings[at].Level != client.LevelOK {
				t.Errorf("%s was not found to answer (%v):\n%s", name, err, out)
			}
			if left, _ := os.ReadDir(home); len(left) > 0 {
				t.Errorf("the doctor left %v", left)
			}
			if at >= 0 {
				t.Log(findings[at].Message)
			}
			closed(a)
		})
	}
}
