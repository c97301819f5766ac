package shell_test

import (
	"os/exec"
	"strings"
	"testing"

	"gascity/internal/guard/shell"
)

// TestWordsAreThoseOfBash compares words with those that bash makes of the same text: a word that
// is marked as known must be equal.
func TestWordsAreThoseOfBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for _, source := range []string{
		`a 'b c' "d e" f\ g h"i"'j'`, `$'\x2df' $'\055f' $'\u002df' $'\U0000002d' $'a\tb\nc' $'\'' $'\"' $'%s' $'%%' $'a\\b' $'\e[1m' $'\cA' $'x\0y'`, `"\$x" "\\" "\"" "a\b" '\n' \n`, `{a,b}{1,2} x{1..3} {a,'b c'} a{,b} {x} {}`,
		`"a
b" a\
b`, `~ ~/x "~" '~/x' a~ x=~`, `"$HOME" $HOME/x ${HOME}y`, `$((1+1))x`, `"$(echo a  b)" $(echo ab)`, "\"$(cat <<'E'\na \\$x 'b'\nE\n)\"", "\"$(cat <<E\na \\$x 'b' \\\\\nE\n)\"", "\"$(cat <<-E\n\ta\n\t\tb\n\tE\n)\"", `--a=b -- - +x`, `a#b '#c'`, `"${X}" ''`,
		`$"a b" $'a'$'b' "a"$'\n'"b"`, `[ab] 'a*' \* a\?`, `a\'b "it's" 'say "x"'`, "`echo a`b \"`echo 'c d'`\"", `X=1 a=~/b`, `"$(printf 'a b')" "$(printf '%s' 'c d')" "$(echo 'e f' )"`, `é "ü" $'\xc3\xa9' $'\303\251'`,
	} {
		script := "V='p q'; W=r; A=(s 't u'); printf '%s\\0' " + source + ` "$V" $V x$W "${A[@]}" ${A[@]}`
		cmd := exec.Command(bash, "--norc", "-c", script)
		cmd.Env, cmd.Dir = []string{"HOME=/home/u", "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}, t.TempDir()
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: bash: %v", source, err)
			continue
		}
		want := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		commands, err := shell.Parse(script, shell.Options{Home: "/home/u"})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		words := commands[len(commands)-1].Words[2:]
		for i, w := range words {
			if !w.Known || w.Glob {
				continue
			}
			if i >= len(want) || w.Text != want[i] {
				t.Errorf("%s: word %d is %q, bash has %q", source, i+1, w.Text, want)
				break
			}
		}
	}
}
