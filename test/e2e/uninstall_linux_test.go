package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
)

// TestUninstallOnAFullDisk runs gc destroy on a full disk. gc start, which cannot start a controller there,
// prints that command.
func TestUninstallOnAFullDisk(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "", leavingAgents(t))
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
	const command = "gc stop --without-controller"
	if out, code := c.calls("start"); code == 0 || !strings.Contains(oneLine(out), "the disk is full") || !strings.Contains(oneLine(out), command) {
		t.Errorf("gc start on a full disk: %d, want an error that names %q\n%s", code, command, out)
	}
	fillUp(t, filepath.Join(c.root, ".gc", "log", "controller.log")) // the controller has no space for the reason
	if out, code := c.calls("start"); code == 0 || !strings.Contains(oneLine(out), "the disk is full") || !strings.Contains(oneLine(out), command) {
		t.Errorf("gc start with a log that cannot be written: %d, want an error that names %q\n%s", code, command, out)
	}
	if out, code := c.calls("stop", "--without-controller"); code != 0 {
		t.Errorf("%s: %d\n%s", command, code, out)
	}
	c.isStopped()
	if _, err := os.Stat(filepath.Join(c.root, ".gc", "city.db")); err != nil {
		t.Errorf("%s removed the records: %v", command, err)
	}
	if out, code := c.calls("destroy", "--yes"); code != 0 {
		t.Errorf("gc destroy: %d\n%s", code, out)
	}
	c.isGone(sockets)
}

// fillUp appends to a file until there is no space for another byte.
func fillUp(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for err == nil {
		_, err = file.WriteString("\n")
	}
}

// oneLine returns a text without the line breaks that the width of a terminal makes.
func oneLine(text []byte) string { return strings.Join(strings.Fields(string(text)), " ") }
