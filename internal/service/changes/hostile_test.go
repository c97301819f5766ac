package changes_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/service/changes"
)

// hostile makes the git directory of r run a program wherever git would run one. It returns the folder
// in which the program leaves its traces.
func (r repository) hostile() string {
	r.t.Helper()
	traces := r.t.TempDir()
	program := filepath.Join(r.t.TempDir(), "evil")
	text := "#!/bin/sh\nenv > " + traces + "/$1\ncat\n"
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil { //nolint:gosec // a program
		r.t.Fatal(err)
	}
	for key, value := range map[string]string{
		"core.fsmonitor": "fsmonitor", "core.pager": "pager", "core.sshCommand": "ssh", "core.editor": "editor", "core.alternateRefsCommand": "alternates", "core.gitProxy": "proxy",
		"diff.external": "external", "diff.evil.textconv": "textconv", "diff.evil.command": "command", "filter.evil.clean": "clean", "filter.evil.smudge": "smudge",
		"merge.evil.driver": "merge", "gpg.program": "gpg", "interactive.diffFilter": "interactive", "alias.status": "alias", "sequence.editor": "sequence", "credential.helper": "credential",
		"remote.origin.uploadpack": "uploadpack",
	} {
		if key == "alias.status" {
			value = "!" + program + " " + value
		} else {
			value = program + " " + value
		}
		r.git("config", key, value)
	}
	r.git("config", "filter.later.process", program+" process")
	r.git("config", "core.attributesFile", filepath.Join(r.dir, ".git", "attributes"))
	r.git("config", "remote.origin.url", "ext::"+program+" remote")
	r.git("config", "protocol.ext.allow", "always")
	for _, name := range []string{".git/info/attributes", ".git/attributes", ".gitattributes"} {
		r.write(name, "*.go filter=evil diff=evil merge=evil\n*.md filter=later diff=evil\n*.txt -diff -text\n")
	}
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "pre-auto-gc", "reference-transaction", "post-checkout"} {
		if err := os.WriteFile(r.path(".git/hooks/"+hook), []byte("#!/bin/sh\nexec "+program+" hook-"+hook+" </dev/null\n"), 0o700); err != nil { //nolint:gosec // a program
			r.t.Fatal(err)
		}
	}
	return traces
}

// left returns the names of the traces.
func left(t *testing.T, traces string) []string {
	t.Helper()
	entries, err := os.ReadDir(traces)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A repository whose git directory is hostile runs no program, changes nothing and is shown as it is.
// Plain git runs many of them.
func TestAHostileRepositoryRunsNothing(t *testing.T) {
	r := newRepository(t)
	r.git("checkout", "-q", "-b", "agent/x")
	r.write("src/cart.go", "package src\n")
	r.commit("a commit")
	traces := r.hostile()
	r.write("src/cart.go", "package hostile\n")
	r.write("README.md", "hostile\n")
	r.write("gone.txt", "changed\n")
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(r.path("logo.png"), later, later); err != nil { // its time differs, its content does not
		t.Fatal(err)
	}
	before := r.state()
	for _, q := range []client.ChangesQuery{{}, {Diff: true}, {Diff: true, Since: client.SinceBranch}, {Diff: true, Path: "src/cart.go"}} {
		c := r.read(q)
		if ran := left(t, traces); len(ran) > 0 {
			t.Fatalf("%+v runs %q", q, ran)
		}
		if f := file(t, c, "src/cart.go"); f.Added != 1 || q.Diff && !strings.Contains(f.Diff, "+package hostile") {
			t.Errorf("%+v: the file is %+v", q, f)
		}
	}
	c := r.read(client.ChangesQuery{Diff: true})
	compare(t, c, `untracked ".gitattributes" +3 -0`, `modified "README.md" +1 -1, unstaged`, `modified "gone.txt" +1 -1, unstaged`, `modified "src/cart.go" +1 -1, unstaged`)
	if f := file(t, c, "gone.txt"); !strings.Contains(f.Diff, "+changed") {
		t.Errorf("an attribute hides the diff of a text:\n%s", f.Diff)
	}
	if after := r.state(); after != before {
		t.Errorf("the git directory was\n%s\nand is\n%s", before, after)
	}
	for _, args := range [][]string{{"status"}, {"diff"}, {"diff", "--no-ext-diff"}} {
		_, _ = r.try(args...) // what it prints does not matter
	}
	ran := left(t, traces)
	for _, want := range []string{"clean", "process", "external", "fsmonitor", "textconv", "hook-post-index-change"} {
		if !slices.Contains(ran, want) {
			t.Errorf("this test proves nothing about %s: plain git runs only %q", want, ran)
		}
	}
}

// state returns the names, sizes and times of what is in the git directory.
func (r repository) state() string {
	r.t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(r.path(".git"), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.String()
}

// The state of the city itself is not shown, also if the repository tracks it or is reached by a link.
func TestHiddenDirectories(t *testing.T) {
	r := newRepository(t)
	r.write("city/.gc/web.json", "secret\n")
	r.commit("the state of a city, by mistake")
	r.write("city/.gc/web.json", "another secret\n")
	r.write("city/.gc/worker.token", "secret\n")
	r.write("city/.gcx", "x\n")
	r.git("mv", "README.md", "city/.gc/README.md")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.dir, link); err != nil {
		t.Fatal(err)
	}
	s, _ := service(t, func(o *changes.Options) {
		o.Hidden = []string{r.path("city/.gc"), r.path("city/.runtime"), "/elsewhere/.gc"}
	})
	for _, dir := range []string{r.dir, link, filepath.Join(link, "city"), filepath.Join(link, "src")} {
		c, err := s.Read(t.Context(), dir, client.ChangesQuery{Diff: true, Since: client.SinceBranch})
		if err != nil {
			t.Fatal(err)
		}
		compare(t, c, `untracked "city/.gcx" +1 -0`)
		if c, err := s.Read(t.Context(), dir, client.ChangesQuery{Diff: true, Path: "city/.gc/web.json"}); err != nil || len(c.Files) != 0 {
			t.Errorf("by its path, a hidden file is shown: %+v, %v", c, err)
		}
	}
}

// What the user ignores in every repository is ignored here too.
func TestTheUsersIgnoredFiles(t *testing.T) {
	r := newRepository(t)
	ignore := filepath.Join(t.TempDir(), "ignore")
	if err := os.WriteFile(ignore, []byte(".idea/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.write(".idea/x", "x\n")
	r.write("new", "x\n")
	s, _ := service(t, func(o *changes.Options) { o.Ignore = ignore })
	c, err := s.Read(t.Context(), r.dir, client.ChangesQuery{})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, c, `untracked "new" +1 -0`)
}

// git gets no variable of the controller's environment.
func TestTheEnvironmentIsNotPassedOn(t *testing.T) {
	r := newRepository(t)
	t.Setenv("GC_TEST_SECRET", "canary")
	t.Setenv("GIT_EXTERNAL_DIFF", "/bin/false")
	original, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	wrapper, seen := filepath.Join(folder, "git"), filepath.Join(folder, "seen")
	if err := os.WriteFile(wrapper, []byte("#!/bin/sh\nenv >> "+seen+"\nexec "+original+" \"$@\"\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	s, _ := service(t, func(o *changes.Options) { o.Program = func() (string, error) { return wrapper, nil } })
	if _, err := s.Read(t.Context(), r.dir, client.ChangesQuery{Diff: true}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(seen)
	if err != nil || !strings.Contains(string(text), "GIT_OPTIONAL_LOCKS=0") || strings.Contains(string(text), "canary") || strings.Contains(string(text), "GIT_EXTERNAL_DIFF") {
		t.Errorf("the environment of git is %v\n%s", err, text)
	}
}

// A git directory whose files are pipes is refused, or ends at the time limit. Nothing waits for ever.
func TestPipesInTheGitDirectory(t *testing.T) {
	for _, name := range []string{".git/HEAD", ".git/index", ".git/config", ".git/info/exclude", ".git/commondir", ".git", ".git/packed-refs", ".git/refs/heads/main", ".gitignore"} {
		r := newRepository(t)
		if err := os.RemoveAll(r.path(name)); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(r.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
		s, private := service(t, func(o *changes.Options) { o.Limit = time.Second })
		began := time.Now()
		_, err := s.Read(t.Context(), r.dir, client.ChangesQuery{Diff: true})
		if !errors.Is(err, client.ErrRefused) && !errors.Is(err, client.ErrTimeout) || time.Since(began) > 30*time.Second {
			t.Errorf("with %s as a pipe, after %v the error is %v", name, time.Since(began), err)
		}
		if _, err := os.Lstat(private); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("with %s as a pipe, %s is left", name, private)
		}
	}
}

// A working tree that the configuration moves elsewhere stays where its .git is.
func TestTheWorkingTreeIsNotMoved(t *testing.T) {
	r := newRepository(t)
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "secret"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.git("config", "core.worktree", elsewhere)
	if c := r.read(client.ChangesQuery{Diff: true}); c.Root != r.dir || len(c.Files) != 0 {
		t.Errorf("the changes are %+v", c)
	}
}

// FuzzPathsAreQuotedAsGitDoes proves that a quoted path has no control character and names the same path.
func FuzzPathsAreQuotedAsGitDoes(f *testing.F) {
	for _, seed := range []string{"a", "a b", "\"", `\`, "\n", "\xff", "\u0085", "\x7f", "é", `"\303"`, `"\`, `"\777"`, "\u202e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if err := changes.CheckQuoted(path); err != nil {
			t.Error(err)
		}
	})
}

// FuzzPatches proves that no output of git stops the reader, and that its limit holds.
func FuzzPatches(f *testing.F) {
	f.Add("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 100)
	f.Add("diff --git \"a/\\303\" \"b/\\303\"\nrename to x\n* Unmerged path x\n", 10)
	f.Add("diff --git a b\n"+strings.Repeat("+long", 20_000), 50_000)
	f.Fuzz(func(t *testing.T, patch string, limit int) {
		if err := changes.CheckPatch(patch, max(0, limit%100_000)); err != nil {
			t.Error(err)
		}
	})
}
