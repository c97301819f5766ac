package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/proc"
)

// leavingAgents are agents that leave processes behind: children in other process sessions, one without a
// parent, all ignoring SIGTERM.
func leavingAgents(t *testing.T) []member {
	t.Helper()
	flags := "--spawn-setsid 1 --spawn-daemon"
	members := []member{{name: "here", flags: flags}, {name: "lost", flags: flags}}
	if _, err := exec.LookPath("tmux"); err == nil {
		members = append(members, member{name: "pane", flags: flags, toml: "session = \"tmux\""})
	}
	return members
}

// TestUninstall destroys a city whose agents have left processes, in every state of a city. Nothing of the city
// is left, and nothing else is removed.
func TestUninstall(t *testing.T) {
	for name, harm := range map[string]func(*city){
		"a living city":             func(*city) {},
		"its controller was killed": func(c *city) { c.kill(); c.cmd = nil },
		"a shim was killed with it": func(c *city) { c.kill(); c.cmd = nil; c.killShimOf("lost") },
		"its state is half gone":    func(c *city) { c.kill(); c.cmd = nil; c.spoil() },
		"its state is not there":    func(c *city) { c.kill(); c.cmd = nil; c.removeFolder(".gc"); c.removeFolder(".runtime") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCityOf(t, "", leavingAgents(t))
			c.start()
			c.await("running", running)
			sockets := c.sockets()
			mine := c.belongings()
			harm(c)
			defer c.isGone(sockets) // which ends what a failure has left
			out, code := c.calls("uninstall", "--yes", "--json")
			var said client.Uninstalled
			if err := json.Unmarshal(out, &said); err != nil || code != 0 || !said.Clean {
				t.Fatalf("gc uninstall: %d, %v\n%s", code, err, out)
			}
			c.waitControllerExit()
			c.isGone(sockets)
			for path, want := range mine {
				if got, err := os.ReadFile(path); err != nil || string(got) != want {
					t.Errorf("%s is not as it was: %q, %v", path, got, err)
				}
			}
			if out, code := c.calls("uninstall", "--yes"); code != 0 || !bytes.Contains(out, []byte("nothing to remove: gc has created nothing for")) {
				t.Errorf("the second time: %d\n%s", code, out)
			}
		})
	}
}

// TestUninstallTwiceAtOnce has several processes destroy the same city. Each reports the real result.
func TestUninstallTwiceAtOnce(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "", leavingAgents(t))
	c.start()
	c.await("running", running)
	sockets := c.sockets()
	c.kill()
	c.cmd = nil
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if out, code := c.calls("uninstall", "--yes"); code != 0 {
				t.Errorf("one of three: %d\n%s", code, out)
			}
		})
	}
	all.Wait()
	c.isGone(sockets)
}

// TestUninstallIsRefused changes nothing and names the process that prevents it.
func TestUninstallIsRefused(t *testing.T) {
	t.Parallel()
	c := newCityOf(t, "", []member{{name: "here"}})
	c.start()
	before := pids(c.await("running", running))
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	out, code := c.calls("uninstall", "--yes")
	if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if code != 4 || !bytes.Contains(out, []byte("process "+strconv.Itoa(c.cmd.Process.Pid))) {
		t.Errorf("gc uninstall beside a controller that does not answer: %d\n%s", code, out)
	}
	if after := pids(c.await("running", running)); after["here"] != before["here"] {
		t.Errorf("the agent was process %d and is %d", before["here"], after["here"])
	}
	c.stop()
	elsewhere := filepath.Join(c.root, "elsewhere")
	if err := errors.Join(os.Rename(filepath.Join(c.root, ".gc"), elsewhere), os.Symlink(elsewhere, filepath.Join(c.root, ".gc"))); err != nil {
		t.Fatal(err)
	}
	if out, code := c.calls("uninstall", "--yes"); code != 4 || !bytes.Contains(out, []byte("symbolic link")) {
		t.Errorf("gc uninstall of a city whose state is elsewhere: %d\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "city.db")); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
}

// calls runs a command from another directory.
func (c *city) calls(args ...string) (out []byte, code int) {
	cmd := exec.CommandContext(c.t.Context(), c.gc, append([]string{"--city", c.root}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.root}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	for _, a := range args {
		if a == "--json" {
			cmd.Stderr = os.Stderr
		}
	}
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return said.Bytes(), exit.ExitCode()
	}
	if err != nil {
		c.t.Errorf("gc %v: %v", args, err)
	}
	return said.Bytes(), 0
}

// sockets returns the folder of the city's sockets.
func (c *city) sockets() string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.root, ".gc", citydir.ChoiceFile))
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// belongings are files of the user in directories of gc.
func (c *city) belongings() map[string]string {
	c.t.Helper()
	mine := map[string]string{}
	for path, text := range map[string]string{"work/a": "mine", ".gc/notes/b": "mine, too", ".runtime/notes/c": "mine as well", "outside/d": "linked to"} {
		path = filepath.Join(c.root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			c.t.Fatal(err)
		}
		mine[path] = text
	}
	for _, link := range []string{".gc/log/link", ".runtime/worker-link.port"} {
		if err := os.Symlink(filepath.Join(c.root, "outside"), filepath.Join(c.root, link)); err != nil {
			c.t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(c.root, client.CityFile))
	if err != nil {
		c.t.Fatal(err)
	}
	mine[filepath.Join(c.root, client.CityFile)] = string(text)
	return mine
}

// killShimOf kills the process that holds an agent's terminal, so that what the agent has
// started belongs to no session any more.
func (c *city) killShimOf(agent string) {
	c.t.Helper()
	marked, err := proc.FindByEnv("GC_AGENT", agent)
	if err != nil && len(marked) == 0 {
		c.t.Fatal(err)
	}
	for _, m := range marked {
		argv, err := proc.Argv(m.PPID)
		if city, _, _ := proc.EnvValue(m.PID, "GC_CITY_PATH"); err == nil && city == c.root && len(argv) > 1 && argv[1] == "shim" {
			if err := syscall.Kill(m.PPID, syscall.SIGKILL); err != nil {
				c.t.Fatal(err)
			}
			return
		}
	}
	c.t.Fatalf("the shim of %s was not found among %v", agent, marked)
}

// spoil damages files of the city.
func (c *city) spoil() {
	c.t.Helper()
	for _, name := range []string{"city.db-wal", "provider", "runtime-dir", "controller.lock", "log"} {
		if err := os.RemoveAll(filepath.Join(c.root, ".gc", name)); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(c.root, ".gc", "city.db"), []byte("nonsense"), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// removeFolder removes a folder, except what is not gc's.
func (c *city) removeFolder(name string) {
	c.t.Helper()
	entries, err := os.ReadDir(filepath.Join(c.root, name))
	for _, e := range entries {
		if e.Name() != "notes" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(c.root, name, e.Name())))
		}
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// waitControllerExit waits for a controller that has exited.
func (c *city) waitControllerExit() {
	if c.cmd != nil {
		if err := <-c.ended; err != nil {
			c.t.Errorf("the controller ended with: %v", err)
		}
		c.cmd = nil
	}
}

// isStopped fails the test if a process of the city is left, and kills it.
func (c *city) isStopped() {
	c.t.Helper()
	left, err := proc.FindByEnv("GC_CITY_PATH", c.root)
	if unreadable := (*proc.UnreadableError)(nil); err != nil && !errors.As(err, &unreadable) {
		c.t.Fatal(err)
	}
	for _, p := range left {
		c.t.Errorf("process %d (%s) is left", p.PID, p.Comm)
		_ = syscall.Kill(p.PID, syscall.SIGKILL) // nothing is left behind by a test
	}
}

// isGone fails if a process or a file of the city is left.
func (c *city) isGone(sockets string) {
	c.t.Helper()
	c.isStopped()
	for _, path := range []string{sockets, filepath.Join(c.root, ".runtime"), filepath.Join(c.root, ".gc")} {
		entries, err := os.ReadDir(path)
		if len(entries) == 1 && entries[0].Name() == "notes" {
			continue
		}
		if err == nil {
			c.t.Errorf("%s is left, with %v", path, entries)
		}
	}
}
