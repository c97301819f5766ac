package far_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gascity/internal/citydir"
)

// outpost returns the folder of a city's outpost, and that of its sockets.
func (c *city) outpost(f *sshServer) (folder, sockets string) {
	folder = filepath.Join(f.dir, "state", "gc", "outpost", citydir.ID(must(filepath.EvalSymlinks(c.root))))
	chosen, _ := citydir.Sockets(folder, "")
	if chosen == "" {
		c.Fatalf("the outpost in %s has no folder for sockets", folder)
	}
	return folder, chosen
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A stop of the city removes the socket directory on the host. An exit of only the controller leaves the files
// of its agents.
func TestStopRemovesTheSocketDirectory(t *testing.T) {
	t.Parallel()
	f := newSSHServer(t, options{})
	c := newCity(t, f, f.agent(t, "worker", ""))
	folder, sockets := c.outpost(f)
	c.run(f, "controller", "stop")
	until(t, "the far end has ended", func() bool { return serving(folder) == 0 })
	if !there(filepath.Join(sockets, place)) {
		t.Fatalf("%s is gone although an agent runs", sockets)
	}
	c.run(f, "start")
	c.run(f, "stop")
	until(t, "the folder of sockets is gone: "+sockets, func() bool { return !there(sockets) })
}

// serving counts the far ends of an outpost.
func serving(folder string) (n int) {
	for _, pid := range processes(folder) {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err == nil && strings.Contains(string(line), "\x00outpost\x00serve\x00") {
			n++
		}
	}
	return n
}

// gc destroy also removes the processes and files on the host. While the host cannot be reached, nothing is
// removed, unless the user accepts to leave them, which is reported.
func TestUninstall(t *testing.T) {
	t.Parallel()
	f := newSSHServer(t, options{})
	c := newCity(t, f, f.agent(t, "worker", "--spawn-daemon"))
	folder, sockets := c.outpost(f)
	c.run(f, "stop")
	f.signal(syscall.SIGKILL)
	f.down()
	f.killConnections()
	if out, code := c.gc(f, "uninstall", "--yes"); code != 1 || !strings.Contains(out, "ssh:box") || !there(filepath.Join(c.root, ".gc", "city.db")) {
		t.Errorf("gc uninstall without the host: %d\n%s", code, out)
	}
	f.resume(t)
	c.run(f, "start")
	out := c.run(f, "uninstall", "--yes")
	t.Logf("%s", out)
	for _, path := range []string{folder, filepath.Dir(filepath.Dir(folder)), sockets, filepath.Join(c.root, ".gc"), filepath.Join(c.root, ".runtime")} {
		if there(path) {
			t.Errorf("%s is left", path)
		}
	}
	if pids := processes(folder); len(pids) > 0 {
		until(t, "no process of the outpost is left", func() bool { return len(processes(folder)) == 0 })
	}
	if !there(filepath.Join(f.dir, "work")) || !there(filepath.Join(c.root, "city.toml")) {
		t.Error("what is not gc's is gone")
	}
}
