package e2e

import (
	"errors"
	"os"
	"path/filepath"
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
	smallDisk(t, c.root, "8m")
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
