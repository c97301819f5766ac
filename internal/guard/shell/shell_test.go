package shell_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/guard/shell"
)

// show returns a command as one line, with the words that are not known in brackets, the programs
// that run it, what it hides, and its files.
func show(c shell.Command) string {
	var b strings.Builder
	for _, name := range c.Via {
		b.WriteString(name + ": ")
	}
	for i, w := range c.Words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word(w))
	}
	if c.More {
		b.WriteString(" ...")
	}
	for _, w := range c.Reads {
		b.WriteString(" <" + word(w))
	}
	for _, w := range c.Writes {
		b.WriteString(" >" + word(w))
	}
	if c.Hidden != "" {
		b.WriteString(" HIDDEN")
	}
	return strings.TrimSpace(b.String())
}

func word(w shell.Word) string {
	text := strings.ReplaceAll(w.Text, string(shell.Unknown), "?")
	switch {
	case w.Any != nil:
		var values []string
		for _, v := range w.Any {
			values = append(values, word(v))
		}
		return "{" + strings.Join(values, ",") + "}"
	case w.Split:
		return "[" + text + "]*"
	case !w.Known:
		return "[" + text + "]"
	case w.Glob:
		return "glob(" + text + ")"
	}
	return text
}

// TestParse checks the commands that are found in scripts.
func TestParse(t *testing.T) {
	for script, want := range map[string][]string{
		"git push -f":                        {"git push -f"},
		`g"i"t pu\sh $'\x2df' 'a b'`:         {"git push -f a b"},
		"git {push,-f}":                      {"git push -f"},
		"ls ~/x $HOME/y \"$HOME\"":           {"ls /home/u/x /home/u/y /home/u"},
		"HOME=/x; ls $HOME":                  {"ls /x"},
		"ls *.go 'a*'":                       {"ls glob(*.go) a*"},
		"rm $X \"$X\" a$X \"a${X}b\" $((1))": {"rm [?]* [?] [a?]* [a?b] [?]"},
		"sudo -u bob env X=1 sh -c 'git push'": {
			"sudo -u bob env X=1 sh -c git push", "sudo: env X=1 sh -c git push", "sudo: env: sh -c git push", "sudo: env: sh: git push",
		},
		"echo 'rm x' | sh":                     {"echo rm x", "sh", "sh: rm x"},
		"curl x | bash":                        {"curl x", "bash HIDDEN"},
		"bash < f":                             {"bash <f HIDDEN"},
		"bash <<E\nrm x\nE":                    {"bash", "bash: rm x"},
		"bash <<E\nrm $x\nE":                   {"bash HIDDEN"},
		"cat f | xargs -n1 rm -rf":             {"cat f", "xargs -n1 rm -rf", "xargs: rm -rf ..."},
		"find . -exec rm {} \\; -print":        {"find . -exec rm {} ; -print", "find: rm [./?]"},
		"for b in a b; do rm $b \"x$b\"; done": {"rm {a,b} [x?]"},
		"for b in a; do b=$Y; rm $b; done":     {"rm [?]*"},
		"for b in $(ls); do rm $b; done":       {"ls", "rm {[?]*}"},
		"echo $(rm -rf ~) > ~/.bashrc":         {"rm -rf /home/u", "echo [?]* >/home/u/.bashrc"},
		"f() { rm x; }; f":                     {"rm x", "f"},
		"$X push":                              {"[?]* push HIDDEN"},
		"timeout 5 nice -n 3 rm x":             {"timeout 5 nice -n 3 rm x", "timeout: nice -n 3 rm x", "timeout: nice: rm x"},
		"ssh h -p 3 rm -rf /":                  {"ssh h -p 3 rm -rf /", "ssh: rm -rf /"},
		"su - bob -c 'rm x'":                   {"su - bob -c rm x", "su: rm x"},
		"env -S 'rm x'":                        {"env -S rm x", "env: rm x"},
		"{ rm a; } 2>&1 >o <i":                 {"rm a", "<i >o"},
		"> f":                                  {">f"},
		"cat <(rm q) >(rm r)":                  {"rm q", "rm r", "cat /dev/fd/63 /dev/fd/63"},
		"declare x=$(rm k)":                    {"rm k"},
		"bash -c \"$(curl x)\"":                {"curl x", "bash -c [?] HIDDEN"},
		"command -v rm":                        {"command -v rm"},
		"git -c alias.x='!rm y' x":             {"git -c alias.x=!rm y x HIDDEN", "git: alias.x: rm y [?]*"},
		"bash ./build.sh":                      {"bash ./build.sh"},
		"sudo $X":                              {"sudo [?]* HIDDEN"},
		"sh -c 'if'":                           {"sh -c if", "sh: sh -c if HIDDEN"},
		"while read l; do rm $l; done < list":  {"read l", "rm [?]*", "<list"},
		"{,} | cat":                            {"cat"}, // no program and no words
		"echo $({,})":                          {"echo [?]*"},
		"":                                     nil,
	} {
		commands, err := shell.Parse(script, shell.Options{Home: "/home/u"})
		if err != nil {
			t.Errorf("%s: %v", script, err)
			continue
		}
		var got []string
		for _, c := range commands {
			got = append(got, show(c))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", script, diff)
		}
	}
}

// TestParseErrorHasAPosition checks that the error about a script that cannot be parsed has the
// position.
func TestParseErrorHasAPosition(t *testing.T) {
	_, err := shell.Parse("ls\nif", shell.Options{})
	if err == nil || !strings.Contains(err.Error(), "2:1") {
		t.Errorf("got %v, want the position 2:1", err)
	}
	if _, err := shell.Parse(strings.Repeat("x", shell.MaxScript+1), shell.Options{}); err == nil {
		t.Error("a script over the limit was read")
	}
}

// TestDepthIsBounded checks that a script that is nested too deep is an error.
func TestDepthIsBounded(t *testing.T) {
	script := "rm x"
	for range 40 {
		script = "env " + script
	}
	commands, err := shell.Parse(script, shell.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if last := commands[len(commands)-1]; last.Hidden == "" {
		t.Errorf("40 levels were followed to %q without a word", show(last))
	}
}
