package cli

import (
	"strings"
	"testing"

	"gascity/internal/cli/cmdenv"
)

// TestOtherWordsNameCommandsThatExist proves that each proposed command, with its flags, is one of gc.
func TestOtherWordsNameCommandsThatExist(t *testing.T) {
	root := testRoot()
	for word, line := range otherWords {
		words := strings.Fields(line)[1:]
		found, rest, err := root.Find(words)
		if err != nil || found == root || len(rest) > 0 && found.HasSubCommands() {
			t.Errorf("%q is answered with %q, which is no command", word, line)
		}
		for _, flag := range rest {
			if name, ok := strings.CutPrefix(flag, "-"); ok && found.Flags().ShorthandLookup(name) == nil {
				t.Errorf("%q is answered with %q, but %s has no flag %s", word, line, found.CommandPath(), flag)
			}
		}
	}
}

func TestAMisspelledWordOfAnotherToolIsSuggested(t *testing.T) {
	for word, want := range map[string]string{
		"lst":    "gc has no command \"lst\"; did you mean: gc status",
		"statu":  "did you mean \"status\"?",
		"puse":   "gc has no command \"puse\"\n",   // near "pause", which stops agents
		"estroy": "gc has no command \"estroy\"\n", // near "destroy"
	} {
		if status, _, stderr := invoke(t, word); status != cmdenv.BadUsage || !strings.Contains(stderr, want) {
			t.Errorf("gc %s: exit status %d, %q; want status %d and %q", word, status, stderr, cmdenv.BadUsage, want)
		}
	}
}
