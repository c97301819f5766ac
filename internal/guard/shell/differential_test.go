package shell_test

import (
	"flag"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gascity/internal/guard/shell"
)

var differences = flag.Int("differences", 300, "how many random texts are compared with real programs")

// composed returns random texts that are put together from fragments.
func composed(fragments []string) func(yield func(string) bool) {
	random := rand.New(rand.NewPCG(1, 7))
	return func(yield func(string) bool) {
		for range *differences {
			var b strings.Builder
			for range 1 + random.IntN(9) {
				b.WriteString(fragments[random.IntN(len(fragments))])
			}
			if !yield(b.String()) {
				return
			}
		}
	}
}

// TestSedProgramsActAsSedSays compares the analysis of sed programs with GNU sed itself, which
// refuses in its sandbox mode every program that runs a command, or reads or writes a file.
func TestSedProgramsActAsSedSays(t *testing.T) {
	sed, err := exec.LookPath("sed")
	if out, _ := exec.Command("sed", "--version").Output(); err != nil || !strings.Contains(string(out), "GNU sed") {
		t.Skip("GNU sed is not installed")
	}
	agreed := 0
	for text := range composed([]string{
		"s/a/b/", "s/a/b/e", "s,x,y,g", "s/[/]/x/", "s/a\\/e/b/", "s/a/b/w f", "e ls", "1e ls", "e", "p", "d", ";", ";", ";", "\n", "\n", "\n", "{", "}", "1", "$", "/e/", "\\,e,", ",", "!", " ", "a e x", "a\\\ne x", "i\\", "c x", ":a", "ba", "t", "#e x\n", "y/ab/cd/", "r f", "w f", "n", "l 2", "q5", "0~2", "+2", "I",
		"s/x/\\\n e/", "=", "x;G", "e x}", "N", "s/a/b/2p", "s/a/b/pe", "/[/]e/", "/[^]]e/", "s/[[:alpha:]/]/e/", "F", "z", "~3", "v", "D", "$!N",
	}) {
		out, err := exec.Command(sed, "--sandbox", "-n", text, "/dev/null").CombinedOutput()
		acts := strings.Contains(string(out), "sandbox")
		got, ok := shell.SedActs(text)
		switch {
		case acts && ok && !got:
			t.Errorf("%q runs a command or uses a file, and it is not seen", text)
		case err == nil && !ok:
			t.Errorf("%q is a program of sed, and it cannot be read", text)
		case err == nil && got:
			t.Errorf("%q only edits text, and it is said to run a command or to use a file", text)
		default:
			agreed++
		}
	}
	if agreed == 0 {
		t.Error("no text was compared")
	}
}

// TestTextsAreSplitAsEnvDoes compares the words of a text with those of env -S.
func TestTextsAreSplitAsEnvDoes(t *testing.T) {
	env, err := exec.LookPath("env")
	if out, _ := exec.Command("env", "--version").Output(); err != nil || !strings.Contains(string(out), "coreutils") {
		t.Skip("GNU env is not installed")
	}
	for text := range composed([]string{"a", "bc", " ", " ", "\t", `\_`, `\t`, `\n`, `\v`, `\#`, `\$`, `\"`, `\'`, `\\`, `'a b'`, `"a b"`, `"a\_b"`, `'a\_b'`, `'a\'b'`, `"c\"d"`, "#", `\c`, `""`, "''", "-f", `"x'y"`, `'x"y'`, `"\#"`}) {
		out, err := exec.Command(env, "-S", "printf '%s\\n' "+text).Output()
		if err != nil {
			continue // env refuses it
		}
		words, known := shell.SplitWords("printf '%s\\n' " + text)
		got := words[2:]
		if len(got) == 0 {
			got = []string{""}
		}
		if want := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); known && !slices.Equal(got, want) && !strings.Contains(text, `\t`) && !strings.Contains(text, `\n`) && !strings.Contains(text, `\v`) {
			t.Errorf("%q: got %q, env has %q", text, got, want)
		}
	}
}
