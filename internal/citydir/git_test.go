package citydir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gascity/internal/citydir"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestGitIgnoresTheDirectoriesOfACity proves with git itself that nothing of gc's own directories
// is added by "git add -A": in the top directory, in one below it with odd characters, in a linked
// working tree, and in a submodule's kind of repository, whose .git is a file.
func TestGitIgnoresTheDirectoriesOfACity(t *testing.T) {
	main := filepath.Join(t.TempDir(), "main")
	if err := os.MkdirAll(main, 0o700); err != nil {
		t.Fatal(err)
	}
	git(t, main, "init", "-q")
	git(t, main, "commit", "-q", "--allow-empty", "-m", "first")
	linked := filepath.Join(filepath.Dir(main), "linked")
	git(t, main, "worktree", "add", "-q", linked)
	separate := filepath.Join(filepath.Dir(main), "separate")
	git(t, filepath.Dir(main), "init", "-q", "--separate-git-dir", filepath.Join(filepath.Dir(main), "kept"), separate)
	for _, root := range []string{main, filepath.Join(main, "a [b]*", "city"), filepath.Join(linked, "city"), separate} {
		for _, name := range []string{".gc/city.db", ".runtime/x", "city.toml"} {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, ok, err := citydir.FindRepository(root)
		if err != nil || !ok {
			t.Fatalf("%s is in no repository: %v", root, err)
		}
		if ignored, err := r.Ignores(root); err != nil || ignored {
			t.Errorf("%s is ignored before anything says so: %v, %v", root, ignored, err)
		}
		if _, changed, err := r.Exclude(root); err != nil || !changed {
			t.Errorf("exclude in %s: changed %v, %v", root, changed, err)
		}
		if _, changed, err := r.Exclude(root); err != nil || changed {
			t.Errorf("a second exclude in %s: changed %v, %v", root, changed, err)
		}
		if ignored, err := r.Ignores(root); err != nil || !ignored {
			t.Errorf("%s is not ignored afterwards: %v, %v", root, ignored, err)
		}
		if status := git(t, root, "status", "--porcelain", "-uall", "."); strings.Contains(status, ".gc") || strings.Contains(status, ".runtime") || !strings.Contains(status, "city.toml") {
			t.Errorf("git sees in %s:\n%s", root, status)
		}
	}
}

// TestARepositoryIsFoundWithoutGit proves that the repository of a city is found, and its state
// read, by its files alone; what is no repository is none.
func TestARepositoryIsFoundWithoutGit(t *testing.T) {
	top := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	city := filepath.Join(top, "deep", "city")
	write("deep/.git", "not a file of git")
	if _, ok, err := citydir.FindRepository(city); ok || err != nil {
		t.Errorf("a repository was found: %v", err)
	}
	write(".git/HEAD", "ref: refs/heads/main\n")
	r, ok, err := citydir.FindRepository(city)
	if !ok || err != nil || r.Root != top {
		t.Fatalf("found %+v, %v, %v", r, ok, err)
	}
	for name, lines := range map[string]string{
		"deep/city/.gitignore": "/.gc/\n/.runtime/\n", "deep/.gitignore": ".gc/\n.runtime\n", ".gitignore": "/deep/city/.gc/\n**/.runtime/\n",
	} {
		if ignored, err := r.Ignores(city); ignored || err != nil {
			t.Errorf("ignored without %s: %v", name, err)
		}
		write(name, lines)
		if ignored, err := r.Ignores(city); !ignored || err != nil {
			t.Errorf("not ignored by %s: %v", name, err)
		}
		write(name, "")
	}
}
