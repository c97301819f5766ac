package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
)

// TestUninstallOnAFullDisk needs no room to make room. gc start, which cannot start a controller there, names
// the command.
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
	const command = "gc destroy"
	if out, code := c.calls("start"); code == 0 || !strings.Contains(oneLine(out), "the disk is full") || !strings.Contains(oneLine(out), command) {
		t.Errorf("gc start on a full disk: %d, want an error that names %q\n%s", code, command, out)
	}
	if out, code := c.calls(strings.TrimPrefix(command, "gc "), "--yes"); code != 0 {
		t.Errorf("%s: %d\n%s", command, code, out)
	}
	c.isGone(sockets)
}

// oneLine returns a text without the line breaks that the width of a terminal makes.
func oneLine(text []byte) string { return strings.Join(strings.Fields(string(text)), " ") }
