package cleanup_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/internal/cleanup"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// TestAPlaceOfSeveralCities: of the sessions at a script's place those of the city alone are
// ended, and a session without a recorded city delays it.
func TestAPlaceOfSeveralCities(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, ".gc"), 0o700); err != nil {
		t.Fatal(err)
	}
	place := fake.New()
	for name, city := range map[string]string{"ours": root, "theirs": "/another/city", "whose": ""} {
		if err := place.Start(t.Context(), name, runtime.Config{Command: "cat", WorkDir: root}); err != nil {
			t.Fatal(err)
		}
		if city == "" {
			continue
		}
		if err := place.SetMeta(name, "GC_CITY_PATH", city); err != nil {
			t.Fatal(err)
		}
	}
	uninstall := func() (stopped []string, left string) {
		out, err := cleanup.Site{Root: root, Bases: []string{t.TempDir()}, Elsewhere: []string{"exec:./vm"}}.Uninstall(t.Context(), cleanup.Options{
			Open: func(string, string) (runtime.Provider, func() error, error) {
				return place, func() error { return nil }, nil
			},
			Local:  func(string) []string { return nil },
			Shared: func(string) bool { return true },
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range out.Left {
			left += l.What + ": " + l.Why + "\n"
		}
		if out.Clean == (left != "") {
			t.Errorf("clean %t with %q left", out.Clean, left)
		}
		return out.Stopped, left
	}
	if stopped, left := uninstall(); !slices.Equal(stopped, []string{"ours"}) || !strings.Contains(left, "whose: its city is not recorded") {
		t.Errorf("stopped %q, left %q", stopped, left)
	}
	if _, err := os.Lstat(filepath.Join(root, ".gc")); err != nil {
		t.Error("it was removed while something is left")
	}
	if err := place.Stop("whose"); err != nil {
		t.Fatal(err)
	}
	if stopped, left := uninstall(); len(stopped) > 0 || left != "" {
		t.Errorf("stopped %q, left %q", stopped, left)
	}
	if running, err := place.ListRunning(""); err != nil || !slices.Equal(running, []string{"theirs"}) {
		t.Errorf("%q run, %v", running, err)
	}
}

// TestWhatSomebodyElseHasMadeStays, also if its name resembles ours.
func TestWhatSomebodyElseHasMadeStays(t *testing.T) {
	root := t.TempDir()
	write := func(names ...string) {
		for _, name := range names {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	mine := []string{".gc/city.db.mine", ".gc/worktrees/a", ".runtime/another-tool/pid", ".runtime/notes"}
	write(mine...)
	write(".gc/city.db", ".gc/city.db-wal", ".gc/city.db.bak-v3", ".gc/city.db.bak-v3.tmp", ".gc/city.db.damaged-20261123-wal", ".gc/log/controller.log",
		".runtime/control.sock.lock", ".runtime/worker-a.port")
	out, err := cleanup.Site{Root: root, Bases: []string{t.TempDir()}}.Uninstall(t.Context(), cleanup.Options{Local: func(string) []string { return nil }})
	if err != nil || !out.Clean {
		t.Fatalf("%+v, %v", out, err)
	}
	var there []string
	err = filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			path, err = filepath.Rel(root, path)
			there = append(there, path)
		}
		return err
	})
	if err != nil || !slices.Equal(there, mine) {
		t.Errorf("there is %q, want %q, %v", there, mine, err)
	}
}
