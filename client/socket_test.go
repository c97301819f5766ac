package client

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func TestSocketPathFitsAndDependsOnTheRootAlone(t *testing.T) {
	paths := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		root := "/" + strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,30}`), 1, 12).Draw(t, "folders"), "/")
		path := SocketPath(root)
		if len(path) > MaxSocketPath {
			t.Errorf("%s has %d bytes", path, len(path))
		}
		if path != SocketPath(root) {
			t.Errorf("the path of %s changes", root)
		}
		if other, taken := paths[path]; taken && other != root {
			t.Errorf("%s and %s share %s", root, other, path)
		}
		paths[path] = root
	})
}

func TestSocketPathIsBesideTheCityWhereItFits(t *testing.T) {
	fits := "/" + strings.Repeat("x", MaxSocketPath-len("//.runtime/control.sock"))
	if got, want := SocketPath(fits), fits+"/.runtime/control.sock"; got != want {
		t.Errorf("the path is %s, want %s", got, want)
	}
	long := fits + "x"
	if got := SocketPath(long); !strings.HasPrefix(got, "/tmp/gc-") || !strings.HasSuffix(got, "/control.sock") {
		t.Errorf("the path of a root that is one byte too long is %s", got)
	}
}

func TestFindCityWalksUp(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(root, "city", "a", "b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "city", "a", CityFile), 0o700); err != nil { // a folder of that name is no city
		t.Fatal(err)
	}
	if got, err := FindCity(deep); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "gc init") {
		t.Errorf("without a city it finds %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(root, "city", CityFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink(deep, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{deep, link, filepath.Join(root, "city")} {
		if got, err := FindCity(dir); err != nil || got != filepath.Join(root, "city") {
			t.Errorf("from %s it finds %q, %v", dir, got, err)
		}
	}
	if _, err := FindCity(filepath.Join(root, "nowhere")); !errors.Is(err, ErrNotFound) {
		t.Errorf("a folder that is not there gives %v", err)
	}
}

func TestWithoutControllerTheErrorSaysWhatToDo(t *testing.T) {
	root := t.TempDir()
	stale := filepath.Join(root, ".runtime")
	if err := os.Mkdir(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	c := &Client{Root: root}
	defer c.Close()
	_, err := c.Status(t.Context())
	if !errors.Is(err, ErrNoController) || err.Error() != "no controller runs for "+root+"; start it with: gc start" {
		t.Errorf("without a socket: %v", err)
	}
	for _, err := range c.Events(t.Context(), 0) {
		if !errors.Is(err, ErrNoController) {
			t.Errorf("events without a socket: %v", err)
		}
	}
}

// A controller that lives without its socket is not said to be absent: the error names its process.
func TestAControllerWithoutItsSocketIsNamed(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".gc"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(root, ".gc", "controller.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.WriteString("4242\n"); err != nil {
		t.Fatal(err)
	}
	c := &Client{Root: root}
	defer c.Close()
	if _, err := c.Status(t.Context()); err == nil || strings.Contains(err.Error(), "4242") {
		t.Errorf("with an unheld lock: %v", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrNoController) || !strings.Contains(err.Error(), "process 4242") || strings.Contains(err.Error(), "no controller runs") {
		t.Errorf("with a controller that holds the city: %v", err)
	}
}

func TestAForeignFolderIsNotSpokenTo(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may speak to everybody's controller")
	}
	c := &Client{Socket: "/etc/control.sock"}
	defer c.Close()
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrForbidden) {
		t.Errorf("a socket in a folder of root gives %v, want %v", err, ErrForbidden)
	}
}

func TestTheEndOfADeadlineIsATimeout(t *testing.T) {
	c := &Client{Root: t.TempDir()}
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if _, err := c.Status(ctx); !errors.Is(err, ErrTimeout) {
		t.Errorf("a call without time gives %v, want %v", err, ErrTimeout)
	}
}
