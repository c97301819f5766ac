package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"gascity/client"
)

// TestAMistakeOfOneAgentIsItsOwn: a place that is not there keeps one agent from
// running, and says so; a mistake of the file keeps all.
func TestAMistakeOfOneAgentIsItsOwn(t *testing.T) {
	for _, c := range []struct {
		name, text string
		alone      bool
	}{
		{"a place", "[[agents]]\nname = \"a\"\nsession = \"ptty\"\nstart_command = \"cat\"\n", true},
		{"a key", "[[agents]]\nname = \"a\"\nsessoin = \"pty\"\nstart_command = \"cat\"\n", false},
	} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, client.CityFile), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		faults, err := New(Options{}).CheckConfig(t.Context(), root)
		if err != nil || len(faults) != 1 || faults[0].Alone != c.alone {
			t.Errorf("%s: got %+v, %v; want one mistake, of one agent alone: %v", c.name, faults, err, c.alone)
		}
	}
}
