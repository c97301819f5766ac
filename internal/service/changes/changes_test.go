package changes_test

import (
	"errors"
	"fmt"
	"net"
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

// repository is a git repository of a test.
type repository struct {
	t   *testing.T
	dir string
}

// newRepository makes a repository with one commit on the branch main.
func newRepository(t *testing.T) repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := repository{t, filepath.Join(t.TempDir(), "work")}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	r.write("README.md", "# Shop\n")
	r.write("src/cart.go", "package src\n\nfunc Total() int {\n\treturn 0\n}\n")
	r.write("src/old.go", strings.Repeat("// a line\n", 20))
	r.write("gone.txt", "gone\n")
	r.write("logo.png", "\x00\x01\x02")
	r.commit("first")
	return r
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func (r repository) try(args ...string) (string, error) {
	cmd := exec.CommandContext(r.t.Context(), "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r repository) commit(message string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", message)
	return strings.TrimSpace(r.git("rev-parse", "HEAD"))
}

func (r repository) path(name string) string { return filepath.Join(r.dir, name) }

func (r repository) write(name, text string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r repository) remove(name string) {
	r.t.Helper()
	if err := os.Remove(r.path(name)); err != nil {
		r.t.Fatal(err)
	}
}

// service returns a service, and the directory for its git directories.
func service(t *testing.T, change func(*changes.Options)) (*changes.Service, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "git")
	opts := changes.Options{Dir: dir, Program: func() (string, error) { return exec.LookPath("git") }}
	if change != nil {
		change(&opts)
	}
	return changes.New(opts), dir
}

// read returns the changes of the repository. It checks that nothing is left behind.
func (r repository) read(q client.ChangesQuery) client.Changes {
	r.t.Helper()
	s, dir := service(r.t, nil)
	got, err := s.Read(r.t.Context(), r.dir, q)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		r.t.Errorf("%s is left: %v", dir, err)
	}
	return got
}

// file returns the changed file of a path.
func file(t *testing.T, c client.Changes, path string) client.ChangedFile {
	t.Helper()
	i := slices.IndexFunc(c.Files, func(f client.ChangedFile) bool { return f.Path == path })
	if i < 0 {
		t.Fatalf("%s is not in the list: %s", path, summary(c))
	}
	return c.Files[i]
}

// summary returns the list in a short form, one line for each file.
func summary(c client.Changes) string {
	var lines []string
	for _, f := range c.Files {
		line := fmt.Sprintf("%s %q +%d -%d", f.Status, f.Path, f.Added, f.Removed)
		for _, mark := range []struct {
			on   bool
			text string
		}{
			{f.OldPath != "", "from " + f.OldPath},
			{f.Kind != "", f.Kind},
			{f.Staged, "staged"},
			{f.Unstaged, "unstaged"},
			{f.Untracked && f.Status != client.FileUntracked, "and untracked"},
			{f.Binary, "binary"},
			{f.Uncounted, "uncounted"},
		} {
			if mark.on {
				line += ", " + mark.text
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func compare(t *testing.T, c client.Changes, want ...string) {
	t.Helper()
	if got := summary(c); got != strings.Join(want, "\n") {
		t.Errorf("the changed files are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// Every kind of change is in the list, with its lines, and has the diff that git shows.
func TestListsEveryKindOfChange(t *testing.T) {
	r := newRepository(t)
	r.write("src/cart.go", "package src\n\nfunc Total() int {\n\treturn 1\n}\n")
	r.git("add", "src/cart.go")
	r.write("README.md", "# Shop\n\nText.\n")
	r.git("mv", "src/old.go", "src/new.go")
	r.remove("gone.txt")
	r.write("logo.png", "\x00\x01\x03")
	r.write("new.txt", "one\ntwo")
	r.write("staged.txt", "staged\n")
	r.git("add", "staged.txt")
	r.write("photo.jpg", "\xff\xd8\x00")
	r.write("empty", "")
	if err := os.Symlink("/etc/passwd", r.path("link")); err != nil {
		t.Fatal(err)
	}
	c := r.read(client.ChangesQuery{Diff: true})
	compare(t, c,
		`modified "README.md" +2 -0, unstaged`, `untracked "empty" +0 -0`, `deleted "gone.txt" +0 -1, unstaged`, `untracked "link" +1 -0, link`,
		`modified "logo.png" +0 -0, unstaged, binary`, `untracked "new.txt" +2 -0`, `untracked "photo.jpg" +0 -0, binary`,
		`modified "src/cart.go" +1 -1, staged`, `renamed "src/new.go" +0 -0, from src/old.go, staged`, `added "staged.txt" +1 -0, staged`)
	if c.Added != 7 || c.Removed != 2 || c.Branch != "main" || c.Head == "" || c.Base != c.Head || len(c.Cut) > 0 {
		t.Errorf("the state is %+v", c)
	}
	for path, want := range map[string]string{
		"README.md":   "diff --git a/README.md b/README.md\nindex ",
		"gone.txt":    "deleted file mode 100644",
		"link":        "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1,1 @@\n+/etc/passwd\n\\ No newline at end of file\n",
		"logo.png":    "Binary files a/logo.png and b/logo.png differ\n",
		"new.txt":     "new file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n",
		"photo.jpg":   "Binary files /dev/null and b/photo.jpg differ\n",
		"src/cart.go": "-\treturn 0\n+\treturn 1\n",
		"src/new.go":  "rename from src/old.go\nrename to src/new.go\n",
	} {
		if f := file(t, c, path); !strings.Contains(f.Diff, want) || f.Cut != "" {
			t.Errorf("the diff of %s is (%s)\n%s\nwant\n%s", path, f.Cut, f.Diff, want)
		}
	}
	r.applies(c)
}

// applies checks that the diffs make the working tree from the base, if the files are texts.
func (r repository) applies(c client.Changes) {
	r.t.Helper()
	copied := filepath.Join(r.t.TempDir(), "copy")
	r.git("worktree", "add", "-q", "--detach", copied, c.Base)
	var patch strings.Builder
	for _, f := range c.Files {
		if !f.Binary {
			patch.WriteString(f.Diff)
		}
	}
	name := filepath.Join(r.t.TempDir(), "patch")
	if err := os.WriteFile(name, []byte(patch.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
	other := repository{r.t, copied}
	other.git("apply", name)
	for _, f := range c.Files {
		if f.Binary || f.Kind == client.KindLink || f.Status == client.FileDeleted {
			continue
		}
		got, err := os.ReadFile(other.path(f.Path))
		want, wantErr := os.ReadFile(r.path(f.Path))
		if err != nil || wantErr != nil || string(got) != string(want) {
			r.t.Errorf("the diff of %s makes %q, want %q: %v, %v", f.Path, got, want, err, wantErr)
		}
	}
}

// A query with a path selects a file, also by its old name, or a directory.
func TestSelectsByPath(t *testing.T) {
	r := newRepository(t)
	r.git("mv", "src/old.go", "src/new.go")
	r.write("src/cart.go", "package src\n")
	r.write("srcs", "x\n")
	for path, want := range map[string]int{"src": 2, "src/": 2, "src/new.go": 1, "src/old.go": 1, "./src/cart.go": 1, "srcs": 1, "absent": 0, "sr": 0, ".": 3} {
		c := r.read(client.ChangesQuery{Path: path, Diff: true})
		if len(c.Files) != want {
			t.Errorf("%q selects\n%s\nwant %d files", path, summary(c), want)
		}
		for _, f := range c.Files {
			if f.Diff == "" {
				t.Errorf("%q: %s has no diff", path, f.Path)
			}
		}
	}
	s, _ := service(t, nil)
	c, err := s.Read(t.Context(), r.path("src"), client.ChangesQuery{Path: "cart.go"})
	if err != nil || len(c.Files) != 1 || c.Files[0].Path != "src/cart.go" || c.WorkDir != r.path("src") || c.Root != r.dir {
		t.Errorf("a path relative to the working directory selects %+v, %v", c, err)
	}
	for _, q := range []client.ChangesQuery{{Path: "../x"}, {Path: "/etc/passwd"}, {Path: `"a`}, {Path: `"\9"`}, {Since: "yesterday"}, {Bytes: -1}, {Bytes: client.MaxDiffBytes + 1}} {
		if _, err := s.Read(t.Context(), r.dir, q); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%+v gives %v", q, err)
		}
	}
}

// Paths with bytes that a terminal or JSON cannot have are written as git writes them, and selected so.
func TestPathsWithOddBytes(t *testing.T) {
	r := newRepository(t)
	names := map[string]string{
		"line\nend": `"line\nend"`, "\xff\xfe": `"\377\376"`, `say "hi"`: `"say \"hi\""`, "\x1b[31mred": `"\033[31mred"`, "<script>alert(1)": "<script>alert(1)",
		"caf\u00e9 \u202etxt": "caf\u00e9 \u202etxt", ":(glob)*": ":(glob)*", "-rf": "-rf", "a b/c d": "a b/c d", `back\slash`: `"back\\slash"`, "\u0085": `"\302\205"`,
	}
	for name := range names {
		r.write(name, "old "+name+"\n")
	}
	r.commit("odd names")
	for name := range names {
		r.write(name, "new "+name+"\n")
		r.write(name+".new", "new "+name+"\n")
	}
	all := r.read(client.ChangesQuery{Diff: true})
	if len(all.Files) != 2*len(names) {
		t.Errorf("%d files are listed, want %d:\n%s", len(all.Files), 2*len(names), summary(all))
	}
	for name, want := range names {
		if f := file(t, all, want); f.Status != client.FileModified || !strings.Contains(f.Diff, "\n+new ") {
			t.Errorf("%q is %+v", name, f)
		}
		one := r.read(client.ChangesQuery{Path: want, Diff: true})
		if len(one.Files) != 1 || !strings.Contains(one.Files[0].Diff, "\n+new ") {
			t.Errorf("%s selects %+v", want, one.Files)
		}
	}
}

// Since the branch left main, committed and uncommitted changes are shown together. The main branch is the
// nearer one of the local and the remote one.
func TestSinceTheBranchLeftMain(t *testing.T) {
	r := newRepository(t)
	origin := filepath.Join(t.TempDir(), "origin.git")
	r.git("clone", "-q", "--bare", r.dir, origin)
	r.git("remote", "add", "origin", origin)
	r.git("fetch", "-q", "origin")
	r.write("local.txt", "a commit of main that origin does not have\n")
	r.commit("local")
	base := strings.TrimSpace(r.git("rev-parse", "HEAD"))
	if c := r.read(client.ChangesQuery{}); c.Main != "origin/main" || c.Commits != 1 || len(c.Files) != 0 {
		t.Errorf("on main, the state is %+v", c)
	}
	r.git("checkout", "-q", "-b", "agent/cart")
	r.write("src/cart.go", "package src\n")
	r.commit("one")
	r.write("two.txt", "2\n")
	r.commit("two")
	r.write("README.md", "changed\n")
	c := r.read(client.ChangesQuery{Since: client.SinceBranch, Diff: true})
	compare(t, c, `modified "README.md" +1 -1, unstaged`, `modified "src/cart.go" +0 -4`, `added "two.txt" +1 -0`)
	if c.Main != "main" || c.Commits != 2 || c.Base != base || c.Branch != "agent/cart" {
		t.Errorf("the state is %+v", c)
	}
	r.applies(c)
	if c := r.read(client.ChangesQuery{}); len(c.Files) != 1 || c.Base != c.Head || c.Commits != 2 {
		t.Errorf("what is not committed is %+v", c)
	}
	r.git("checkout", "-q", "--detach")
	if c := r.read(client.ChangesQuery{Since: client.SinceBranch}); c.Branch != "" || len(c.Files) != 3 {
		t.Errorf("without a branch, the state is %+v", c)
	}
	r.git("branch", "-m", "main", "other")
	r.git("remote", "remove", "origin")
	s, _ := service(t, nil)
	if _, err := s.Read(t.Context(), r.dir, client.ChangesQuery{Since: client.SinceBranch}); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "no main branch") {
		t.Errorf("without a main branch the error is %v", err)
	}
	r.git("checkout", "-q", "--orphan", "main")
	r.commit("unrelated")
	r.git("checkout", "-q", "-f", "agent/cart")
	if _, err := s.Read(t.Context(), r.dir, client.ChangesQuery{Since: client.SinceBranch}); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "in common") {
		t.Errorf("with an unrelated main branch the error is %v", err)
	}
}

// A conflict is shown as the difference to the version of the checked-out branch, with its marks.
func TestConflicts(t *testing.T) {
	r := newRepository(t)
	r.git("checkout", "-q", "-b", "theirs")
	r.write("src/cart.go", "theirs\n")
	r.write("both.txt", "theirs\n")
	r.commit("theirs")
	r.git("checkout", "-q", "main")
	r.write("src/cart.go", "ours\n")
	r.write("both.txt", "ours\n")
	r.commit("ours")
	if out, err := r.try("merge", "theirs"); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	c := r.read(client.ChangesQuery{Diff: true})
	compare(t, c, `conflicted "both.txt" +4 -0`, `conflicted "src/cart.go" +4 -0`)
	if c.Operation != "merge" {
		t.Errorf("the operation is %q", c.Operation)
	}
	for _, f := range c.Files {
		if !strings.Contains(f.Diff, "+<<<<<<< HEAD\n ours\n+=======\n+theirs\n+>>>>>>> theirs\n") {
			t.Errorf("the diff of %s is\n%s", f.Path, f.Diff)
		}
	}
}

// A repository without a commit, a linked working tree, a submodule, a repository in the repository and
// a SHA-256 repository are read.
func TestKindsOfRepositories(t *testing.T) {
	r := newRepository(t)
	fresh := repository{t, filepath.Join(t.TempDir(), "fresh")}
	r.git("init", "-q", "-b", "main", fresh.dir)
	fresh.write("a", "a\n")
	fresh.write("b", "b\n")
	fresh.git("add", "a")
	compare(t, fresh.read(client.ChangesQuery{Diff: true}), `added "a" +1 -0, staged`, `untracked "b" +1 -0`)

	linked := repository{t, filepath.Join(t.TempDir(), "lin[k]ed")}
	r.git("worktree", "add", "-q", "-b", "agent/x", linked.dir)
	linked.write("README.md", "linked\n")
	c := linked.read(client.ChangesQuery{})
	compare(t, c, `modified "README.md" +1 -1, unstaged`)
	if c.Branch != "agent/x" || c.Main != "main" || c.Root != linked.dir {
		t.Errorf("the state of a linked working tree is %+v", c)
	}
	linked.git("update-index", "--split-index")
	compare(t, linked.read(client.ChangesQuery{}), `modified "README.md" +1 -1, unstaged`)

	r.git("submodule", "--quiet", "add", fresh.withCommit(), "sub")
	r.git("commit", "-q", "-m", "submodule")
	sub := repository{t, r.path("sub")}
	sub.write("c", "c\n")
	sub.commit("later")
	sub.write("dirty", "not shown\n")
	nested := repository{t, r.path("nested")}
	r.git("init", "-q", nested.dir)
	nested.write("x", "x\n")
	c = r.read(client.ChangesQuery{Diff: true})
	compare(t, c, `untracked "nested" +0 -0, repository`, `modified "sub" +1 -1, submodule, unstaged`)
	if diff := file(t, c, "sub").Diff; !strings.Contains(diff, "+Subproject commit ") || strings.Contains(diff, "dirty") {
		t.Errorf("the diff of a submodule is\n%s", diff)
	}
	compare(t, sub.read(client.ChangesQuery{}), `untracked "dirty" +1 -0`)

	sha256 := repository{t, filepath.Join(t.TempDir(), "sha256")}
	if out, err := r.try("init", "-q", "--object-format=sha256", sha256.dir); err != nil {
		t.Skipf("git has no SHA-256: %s", out)
	}
	sha256.write("a", "a\n")
	compare(t, sha256.read(client.ChangesQuery{}), `untracked "a" +1 -0`)
	sha256.commit("first")
	sha256.write("a", "b\n")
	compare(t, sha256.read(client.ChangesQuery{}), `modified "a" +1 -1, unstaged`)
}

func (r repository) withCommit() string {
	r.commit("a commit")
	return r.dir
}

// What is not a working tree has an error that says why.
func TestClearErrors(t *testing.T) {
	r := newRepository(t)
	plain := t.TempDir()
	bare := filepath.Join(t.TempDir(), "bare.git")
	r.git("clone", "-q", "--bare", r.dir, bare)
	hub := filepath.Join(t.TempDir(), "hub")
	r.git("clone", "-q", "--bare", r.dir, filepath.Join(hub, ".git"))
	other := repository{t, filepath.Join(t.TempDir(), "other")}
	r.git("init", "-q", other.dir)
	other.git("config", "core.repositoryFormatVersion", "1")
	other.git("config", "extensions.objectFormat", "sha999")
	for dir, want := range map[string]struct {
		err  error
		text string
	}{
		plain:                            {client.ErrRefused, "is in no git repository"},
		filepath.Join(plain, "gone"):     {client.ErrRefused, "does not exist"},
		r.path("README.md"):              {client.ErrRefused, "is not a directory"},
		bare:                             {client.ErrRefused, "has no working tree"},
		filepath.Join(bare, "refs"):      {client.ErrRefused, "has no working tree"},
		hub:                              {client.ErrRefused, "is bare"},
		filepath.Join(r.dir, ".git"):     {client.ErrRefused, "has no working tree"},
		other.dir:                        {client.ErrUnavailable, "git "},
		filepath.Join(plain, "x\x00y"):   {client.ErrRefused, "cannot read"},
		filepath.Join(plain, "..", "\n"): {client.ErrRefused, "does not exist"},
	} {
		s, private := service(t, nil)
		_, err := s.Read(t.Context(), dir, client.ChangesQuery{})
		if !errors.Is(err, want.err) || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%q gives %v, want %v with %q", dir, err, want.err, want.text)
		}
		if _, err := os.Lstat(private); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q leaves %s", dir, private)
		}
	}
	s, _ := service(t, func(o *changes.Options) { o.Program = func() (string, error) { return "", errors.New("is not found") } })
	if _, err := s.Read(t.Context(), r.dir, client.ChangesQuery{}); !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "git is not found in PATH of the controller") {
		t.Errorf("without git the error is %v", err)
	}
}

// Pipes, sockets and links in the place of files are reported and never opened.
func TestSpecialFilesAreNotRead(t *testing.T) {
	r := newRepository(t)
	r.remove("gone.txt")
	r.remove("README.md")
	for _, name := range []string{"gone.txt", "pipe"} {
		if err := syscall.Mkfifo(r.path(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", r.path("README.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	secret := repository{t, outside}
	secret.write("secret", "the content of a secret\n")
	secret.write("cart.go", "the content of a secret\n")
	for link, target := range map[string]string{"link": filepath.Join(outside, "secret"), "folder": outside} {
		if err := os.Symlink(target, r.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(r.path("src")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, r.path("src")); err != nil {
		t.Fatal(err)
	}
	c := r.read(client.ChangesQuery{Diff: true})
	compare(t, c, `type_changed "README.md" +0 -0, special, unstaged`, `untracked "folder" +1 -0, link`, `type_changed "gone.txt" +0 -0, special, unstaged`, `untracked "link" +1 -0, link`,
		`untracked "src" +1 -0, link`, `deleted "src/cart.go" +0 -5, unstaged`, `deleted "src/old.go" +0 -20, unstaged`)
	for _, f := range c.Files {
		if strings.Contains(f.Diff, "content of a secret") {
			t.Errorf("the diff of %s shows a file outside of the working tree:\n%s", f.Path, f.Diff)
		}
	}
}

// Limits are respected, and what is left out is said.
func TestLimits(t *testing.T) {
	r := newRepository(t)
	r.write("README.md", strings.Repeat("a line of text\n", 50_000))
	r.write("many.txt", strings.Repeat("x\n", 300_000))
	r.write("long.txt", strings.Repeat("long", 5000)+"\nshort\n")
	r.write("src/cart.go", "package src\n")
	for _, bytes := range []int{20_000, 200_000, 0, 2_000_000} {
		c := r.read(client.ChangesQuery{Diff: true, Bytes: bytes})
		sum := 0
		for _, f := range c.Files {
			sum += len(f.Diff)
			if f.Diff != "" && !strings.HasSuffix(f.Diff, "\n") {
				t.Errorf("the diff of %s ends within a line", f.Path)
			}
			if strings.Count(f.Diff, "\n") < f.Added && f.Cut == "" {
				t.Errorf("with %d bytes, %s has a diff of %d bytes, which does not say that it is cut", bytes, f.Path, len(f.Diff))
			}
		}
		if most := max(bytes, client.DefaultDiffBytes*min(1, 1-min(bytes, 1))); sum > most {
			t.Errorf("with %d bytes the diffs have %d", bytes, sum)
		}
		if f := file(t, c, "long.txt"); f.Diff != "" && (!strings.Contains(f.Diff, "lon…\n+short\n") || f.Cut == "") {
			t.Errorf("with %d bytes the long line is cut like this (%s): %.20s", bytes, f.Cut, f.Diff)
		}
	}
	c := r.read(client.ChangesQuery{Diff: true, Path: "many.txt", Bytes: 2_000_000})
	if f := file(t, c, "many.txt"); strings.Count(f.Diff, "\n+x") != 300_000 || f.Cut != "" {
		t.Errorf("alone, many.txt has a diff of %d bytes (%s)", len(f.Diff), f.Cut)
	}
	for i := range 1100 {
		r.write(fmt.Sprintf("lots/%04d", i), "x\n")
	}
	c = r.read(client.ChangesQuery{Diff: true})
	if len(c.Files) != 1000 || len(c.Cut) != 1 || !strings.Contains(c.Cut[0], "1000 of 1104 files") {
		t.Errorf("%d files are listed: %q", len(c.Files), c.Cut)
	}
	if f := file(t, c, "src/cart.go"); f.Status != client.FileModified { // its path is behind those of the others
		t.Errorf("a tracked file is %+v", f)
	}
}

// A git that does not answer is killed at the time limit.
func TestTimeLimit(t *testing.T) {
	r := newRepository(t)
	slow := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(slow, []byte("#!/bin/sh\nsleep 1000\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	s, private := service(t, func(o *changes.Options) {
		o.Program, o.Limit = func() (string, error) { return slow, nil }, 200*time.Millisecond
	})
	began := time.Now()
	_, err := s.Read(t.Context(), r.dir, client.ChangesQuery{})
	if !errors.Is(err, client.ErrTimeout) || !strings.Contains(err.Error(), "git -C "+r.dir+" status") || time.Since(began) > 20*time.Second {
		t.Errorf("after %v the error is %v", time.Since(began), err)
	}
	if _, err := os.Lstat(private); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left", private)
	}
}
