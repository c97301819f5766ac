package cli

import (
	"strings"
	"testing"
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
