package far_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
)

// city is a city whose agents run on another host.
type city struct {
	*testing.T

	root   string
	client *client.Client
}

// newCity makes a city of the text, adds how to reach the host, and starts it.
func newCity(t *testing.T, f *sshServer, text string) *city {
	t.Helper()
	root := must(os.MkdirTemp("", "gct")) //nolint:usetesting // the path of a socket is short
	c := &city{t, root, &client.Client{Root: root}}
	t.Cleanup(func() {
		c.client.Close()
		if err := os.RemoveAll(root); err != nil {
			t.Errorf("the city stays: %v", err)
		}
	})
	text += fmt.Sprintf("[workspace]\nname = %q\n[session.ssh]\noptions = [\"-F\", %q]\n", filepath.Base(root), filepath.Join(f.dir, "ssh_config"))
	if err := os.WriteFile(filepath.Join(root, client.CityFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.resume(t)
		if out, code := c.gc(f, "stop"); code > 0 && code != exitNoController {
			t.Errorf("gc stop: %d\n%s", code, out)
		}
	})
	c.run(f, "start")
	return c
}

// agent returns a fake agent's part of a city.
func (f *sshServer) agent(t *testing.T, name, flags string) string {
	t.Helper()
	cfg := (&session{T: t, far: f, name: name}).agent(flags)
	return fmt.Sprintf("[[agents]]\nname = %q\nsession = \"ssh:box\"\nstart_command = %q\nwork_dir = %q\nready_prompt_prefix = \"❯ \"\n", name, cfg.Command, cfg.WorkDir)
}

const exitNoController = 6

// gc runs a command and returns what it printed and its status.
func (c *city) gc(f *sshServer, args ...string) (string, int) {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), 2*waitLimit)
	defer cancel()
	var out bytes.Buffer
	cmd := osexec.CommandContext(ctx, f.program, append([]string{"--city", c.root}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*osexec.ExitError](err); ok {
		return out.String(), exit.ExitCode()
	}
	if err != nil {
		c.Fatalf("gc %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), 0
}

// run runs gc, which must succeed.
func (c *city) run(f *sshServer, args ...string) string {
	c.Helper()
	out, code := c.gc(f, args...)
	if code != 0 {
		c.Fatalf("gc %s: %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// agent returns what status says of one, nil before there is an answer.
func (c *city) agent(name string) *client.Agent {
	status, err := c.client.Status(c.Context())
	if err != nil {
		return nil
	}
	for i := range status.Agents {
		if status.Agents[i].Name == name {
			return &status.Agents[i]
		}
	}
	return nil
}

// processes returns those that name a folder.
func processes(folder string) (pids []int) {
	for _, path := range must(filepath.Glob("/proc/[0-9]*/cmdline")) {
		line, err := os.ReadFile(path)
		var pid int
		if _, scanErr := fmt.Sscanf(path, "/proc/%d/", &pid); errors.Join(err, scanErr) == nil && strings.Contains(string(line), folder) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// If the host is down or does not answer, a stop of the city returns in seconds and prints what is left and
// how to continue. When the host is back, the controller stops the rest and exits. Before that, gc start
// continues the city with its agents.
func TestStopWithAnUnreachableHost(t *testing.T) {
	for name, lose := range map[string]func(f *sshServer){
		"dead":   func(f *sshServer) { f.signal(syscall.SIGKILL); f.down() },
		"silent": func(f *sshServer) { f.pause() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newSSHServer(t, options{})
			c := newCity(t, f, f.agent(t, "worker", "")+"[[agents]]\nname = \"here\"\nstart_command = \"exec sleep 1000\"\nsession = \"pty\"\n")
			before := c.agent("worker")
			lose(f)
			stop := func() {
				t.Helper()
				began := time.Now()
				out, code := c.gc(f, "stop")
				t.Logf("gc stop took %s\n%s", time.Since(began), out)
				if took := time.Since(began); code != 1 || took > 20*time.Second {
					t.Errorf("gc stop: %d after %s", code, took)
				}
				for _, want := range []string{"worker", "gc status", "gc start", "gc controller stop"} {
					if !strings.Contains(out, want) {
						t.Errorf("gc stop does not say %q", want)
					}
				}
			}
			stop()
			if here := c.agent("here"); here == nil || here.State != client.StateStopped {
				t.Errorf("the agent of this machine is %+v", here)
			}
			c.run(f, "start", "--no-wait")
			f.resume(t)
			until(t, "the agent is taken over", func() bool {
				now := c.agent("worker")
				return now != nil && now.State == client.StateRunning && now.Instance == before.Instance
			})
			lose(f)
			stop()
			f.resume(t)
			until(t, "the controller has ended", func() bool {
				_, err := c.client.Status(t.Context())
				return errors.Is(err, client.ErrNoController)
			})
			if left := processes(filepath.Join(f.dir, "work")); len(left) > 0 {
				t.Errorf("over there run %v", left)
			}
		})
	}
}
