package ssh

import (
	"os/exec"
	"testing"

	"gascity/internal/textfmt"
)

// The shell on the host gets every word unchanged.
func FuzzQuote(f *testing.F) {
	for _, word := range []string{"", "plain-1.2/x_y", "it's", `a"b\c`, "$(touch x)`y`", "a b\nc", "!", "~", "*", "ünï", "-n"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, b := range []byte(word) {
			if b == 0 {
				t.Skip("no argument holds it")
			}
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+textfmt.ShellWord(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("ShellWord(%q) = %s, which sh reads as %q, %v", word, textfmt.ShellWord(word), out, err)
		}
	})
}
