package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gascity/client"
)

// TestUninstallOnAFullDisk needs no room to make room.
func TestUninstallOnAFullDisk(t *testing.T) {
	t.Parallel()
	c := newCrew(t, "", leavers(t))
	text, err := os.ReadFile(filepath.Join(c.root, client.CityFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", c.root, "tmpfs", 0, "size=8m,mode=0700"); err != nil {
		t.Skipf("cannot mount a small file system, so root is needed: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(c.root, syscall.MNT_DETACH); err != nil {
			t.Errorf("cannot unmount %s: %v", c.root, err)
		}
	})
	if err := errors.Join(os.WriteFile(filepath.Join(c.root, client.CityFile), text, 0o600), os.Symlink(c.gc, c.agent)); err != nil {
		t.Fatal(err)
	}
	c.start()
	c.await("running", running)
	sockets := c.sockets()
	c.kill()
	c.cmd = nil
	fill(t, filepath.Join(c.root, "ballast"))
	if out, code := c.calls("uninstall", "--yes"); code != 0 {
		t.Errorf("gc uninstall: %d\n%s", code, out)
	}
	c.isGone(sockets)
}
