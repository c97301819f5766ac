package agentcli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryRuleHasAFrame checks that each rule for which gc may press keys matches a recorded
// screen. internal/terminal/screen tests with the same screens.
func TestEveryRuleHasAFrame(t *testing.T) {
	for _, name := range Builtin().Names() {
		p, _ := Builtin().Lookup(name)
		for _, rule := range p.Dialogs {
			exact, _ := filepath.Glob(filepath.Join("testdata/dialogs", name, rule.ID+".txt"))
			variants, _ := filepath.Glob(filepath.Join("testdata/dialogs", name, rule.ID+".*.txt"))
			frames := slices.Concat(exact, variants)
			if len(frames) == 0 {
				t.Errorf("profile %s: dialog %s has no recorded frame", name, rule.ID)
			}
			for _, frame := range frames {
				checkFrame(t, frame, rule)
			}
		}
	}
}

func checkFrame(t *testing.T, path string, rule Dialog) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	screen := strings.NewReplacer("│", " ", "’", "'").Replace(string(data))
	screen = strings.ToLower(strings.Join(strings.Fields(screen), " "))
	for _, text := range rule.Match {
		if !strings.Contains(screen, strings.ToLower(text)) {
			t.Errorf("%s does not hold %q, which rule %s looks for", path, text, rule.ID)
		}
	}
}
