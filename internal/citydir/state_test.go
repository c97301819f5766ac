package citydir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
)

// TestLockRefusesAStateFolderOfOthers checks that no controller works with a state folder or a
// database that another user could read or replace, and that the error names the command that
// repairs it.
func TestLockRefusesAStateFolderOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, state string)
		want  string
	}{
		"others may write": {func(t *testing.T, state string) { chmod(t, state, 0o777) }, "(mode 0777); run: chmod 700 "},
		"others may read":  {func(t *testing.T, state string) { chmod(t, state, 0o705) }, "chmod 700 "},
		"another owner":    {func(t *testing.T, state string) { chown(t, state) }, "chown -R "},
		"a database of another owner": {func(t *testing.T, state string) {
			file := filepath.Join(state, StoreFile)
			if err := os.WriteFile(file, nil, PrivateFile); err != nil {
				t.Fatal(err)
			}
			chown(t, file)
		}, "chown "},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			state := filepath.Join(root, StateFolder)
			if err := os.Mkdir(state, Private); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, state)
			release, err := Lock(t.Context(), root, 1)
			if !errors.Is(err, client.ErrForbidden) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Lock = %v, want it forbidden and %q", err, c.want)
			}
			if release != nil {
				_ = release()
			}
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// chown gives a file to another user.
func chown(t *testing.T, path string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("giving a file to another user needs root")
	}
	if err := os.Chown(path, 65534, -1); err != nil {
		t.Fatal(err)
	}
}
