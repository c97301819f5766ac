package driver

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A script removes itself and becomes the program in its folder and environment, whatever
// the values are.
func TestScriptBecomesTheAgent(t *testing.T) {
	dir, odd := filepath.Join(t.TempDir(), "scripts"), filepath.Join(t.TempDir(), "a 'folder'; $x\n")
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	value := "a\nb 'c' \"d\" $HOME `id` \\ \xff ;#{x}"
	path, err := LaunchScript{
		Dir: odd, Unset: []string{"GIVEN", "not a name"}, Env: []string{"ODD=" + value, "not-a-name=1", "=2"},
		Argv: []string{"/bin/sh", "-c", `pwd; printf '%s|%s|%s|' "$ODD" "${GIVEN-unset}" "$1"`, "sh", value},
	}.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	folder, err2 := os.Stat(dir)
	if err != nil || err2 != nil || info.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v: %v, %v", info, folder, err, err2)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", path)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIVEN=by the place"}
	out, err := cmd.CombinedOutput()
	real, _ := filepath.EvalSymlinks(odd)
	if want := real + "\n" + value + "|unset|" + value + "|"; err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
	path, err = LaunchScript{Dir: filepath.Join(odd, "none"), Argv: []string{"echo", "it runs"}}.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err = exec.CommandContext(t.Context(), "/bin/sh", path).CombinedOutput()
	if err == nil || strings.Contains(string(out), "it runs") {
		t.Errorf("without its folder: %q, %v", out, err)
	}
	for name, want := range map[string]bool{"": false, "A": true, "_1": true, "1A": false, "a.b": false, "ä": false, "a=b": false} {
		if isName(name) != want {
			t.Errorf("%q is a name: %v", name, !want)
		}
	}
	if !slices.Contains(cmd.Env, "GIVEN=by the place") {
		t.Error("the test is wrong")
	}
}
