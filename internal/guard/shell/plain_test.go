package shell_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/guard/shell"
)

// FuzzPlain compares what is read without the parser with what the parser reads.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{
		"git status", " git  push --force origin 'a b' \"c;d\" ", "if", "a=b c", "echo a=b", "echo {a,b}", "echo ''x\"\"", "sh -c 'git push -f'", "env A=b eval 'x y'", "time ls", "export A", "exec ls", "x +(a)", "a@b =ls", "echo =~/x", "cd a/../b",
		"git -c alias.x='push -f' x", "1 2", "a:b::", "%1", "ls -- -a", "let x=1", "[ a ]", "function f", "select x", "coproc cat", "nice -n5 rm -rf /", "echo \"a\nb\"", "echo 'a", "0 '\x85'",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		if !shell.Plain(script) {
			return
		}
		opts := shell.Options{Home: "/home/u", Dir: "/src"}
		got, err := shell.Parse(script, opts)
		want, fault := shell.ParseByParser(script, opts)
		if fault != nil && err == nil {
			t.Fatalf("%q: the parser refuses it: %v", script, fault)
		}
		if diff := cmp.Diff(want, got); diff != "" && err == nil {
			t.Fatalf("%q: %s", script, diff)
		}
	})
}

// TestPlainScriptsAreCommon checks which scripts are read without the parser, and which are not.
func TestPlainScriptsAreCommon(t *testing.T) {
	for script, want := range map[string]bool{
		"git status": true, "git commit -m 'fix: the parser (again)'": true, "go test ./...": true, "": false, "ls > x": false, "A=b ls": false, "if x": false, "ls $X": false, "ls *": false, "~/x": false, "'ls'": false, "ls \"$X\"": false, "ls;ls": false, "#x": false,
	} {
		if got := shell.Plain(script); got != want {
			t.Errorf("%q: %t, want %t", script, got, want)
		}
	}
}
