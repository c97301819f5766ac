package httpkit_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/server/httpkit"
)

// TestListenMakesTheDirectoryPrivate checks the modes of the socket and of its directory.
func TestListenMakesTheDirectoryPrivate(t *testing.T) {
	root := t.TempDir()
	path := client.SocketPath(root)
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := httpkit.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600} {
		info, err := os.Stat(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", at, got, want)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there after Close: %v", err)
	}
}

// TestListenReplacesAStaleSocketOnly checks that Listen replaces a socket without a server, and not
// one that is served or another file.
func TestListenReplacesAStaleSocketOnly(t *testing.T) {
	path := client.SocketPath(t.TempDir())
	first, err := httpkit.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := httpkit.Listen(t.Context(), path); !errors.Is(err, client.ErrRefused) {
		t.Errorf("a second controller got %v, want %v", err, client.ErrRefused)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatalf("the living socket was taken away: %v", err)
	}
	defer conn.Close()
	first.SetUnlinkOnClose(false) // as after kill -9
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := httpkit.Listen(t.Context(), path)
	if err != nil {
		t.Fatalf("a stale socket is in the way: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// TestListenRefusesUnsafeDirectories checks that Listen refuses another file in place of the
// socket, and a directory that is a symbolic link or that other users can change.
func TestListenRefusesUnsafeDirectories(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f", "control.sock")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Dir(file), link); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		path string
		want error
	}{
		"a file in the way":    {file, client.ErrRefused},
		"a folder that is not": {filepath.Join(link, "x.sock"), client.ErrForbidden},
		"a path too long":      {filepath.Join(dir, strings.Repeat("x", 100), "control.sock"), client.ErrInvalid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := httpkit.Listen(t.Context(), test.path); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("the file in the way is now %q, %v", text, err)
	}
}
