package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/boxagent"
	"gascity/test/fakeagent/build"
)

const waitLimit = 2 * time.Minute

// programDir is the folder of the program; empty before it is built.
var programDir string

// program builds gc once for each test process.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gc-e2e-")
	if err != nil {
		return "", err
	}
	programDir = dir
	path := filepath.Join(dir, "gc")
	return path, build.Program(path, "gascity/cmd/gc")
})

func TestMain(m *testing.M) {
	if boxagent.Called(os.Args[0]) {
		os.Exit(boxagent.Main(os.Args[1:]))
	}
	if filepath.Base(os.Args[0]) == switchAgent {
		os.Exit(runSwitchAgent(os.Args[1:]))
	}
	code := m.Run()
	if programDir != "" {
		_ = os.RemoveAll(programDir) // a temporary folder
	}
	os.Exit(code)
}

// city is a city of fake agents with a controller in a separate process.
type city struct {
	t      *testing.T
	gc     string
	root   string
	agent  string // path of the fake agent
	client *client.Client
	env    []string // of the controller, in addition to the minimum
	cmd    *exec.Cmd
	ended  chan error
}

// member is one agent of a city: the flags of the fake agent, and the rest of its entry in city.toml.
type member struct {
	name  string
	flags string
	toml  string
	talks bool   // its agent CLI is "talker", which resumes conversations
	ready string // what it shows when it is ready; empty: its prompt line
}

// newCity makes a city of agents without faults.
func newCity(t *testing.T, agents int) *city {
	t.Helper()
	members := make([]member, agents)
	for i := range members {
		members[i].name = name(i)
	}
	return newCityOf(t, "", members)
}

// newCityOf makes a city of the given agents. daemon is added to the section [daemon].
func newCityOf(t *testing.T, daemon string, members []member) *city {
	t.Helper()
	gc, err := program()
	if err != nil {
		t.Fatalf("cannot build gc: %v", err)
	}
	dir, err := os.MkdirTemp("/tmp", "gce-") //nolint:usetesting // socket paths are short
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &city{t: t, gc: gc, root: root, agent: filepath.Join(root, "fakeagent"), client: &client.Client{Root: root, Version: "dev"}}
	if err := os.Symlink(gc, c.agent); err != nil {
		t.Fatal(err)
	}
	var toml strings.Builder
	toml.WriteString("[workspace]\nname = \"town\"\n[daemon]\nshutdown_timeout = \"1s\"\nmax_wakes_per_tick = 8\n" + daemon)
	conversations := filepath.Join(root, "conversations")
	if err := os.Mkdir(conversations, 0o700); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&toml, "[providers.talker]\ncommand = %q\nargs = [\"--conversations\", %q]\nready_prompt_prefix = \"❯\"\n"+
		"resume_flag = \"--resume\"\nresume_style = \"flag\"\nsession_id_flag = \"--session-id\"\n", c.agent, conversations)
	for _, m := range members {
		if m.talks {
			fmt.Fprintf(&toml, "[[agents]]\nname = %q\nprovider = \"talker\"\nargs_append = [\"--ledger\", %q]\n%s\n", m.name, c.ledgerOf(m.name), m.toml)
			continue
		}
		fmt.Fprintf(&toml, "[[agents]]\nname = %q\nstart_command = \"exec %s --ledger %s %s\"\nready_prompt_prefix = %q\n%s\n",
			m.name, c.agent, c.ledgerOf(m.name), m.flags, cmp.Or(m.ready, "❯"), m.toml)
	}
	if err := os.WriteFile(filepath.Join(root, client.CityFile), []byte(toml.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.remove)
	return c
}

func name(i int) string { return fmt.Sprintf("a%03d", i) }

func (c *city) ledger(i int) string { return c.ledgerOf(name(i)) }

func (c *city) ledgerOf(agent string) string { return filepath.Join(c.root, "ledger-"+agent) }

// start starts a controller and waits until it answers.
func (c *city) start() {
	c.t.Helper()
	c.cmd = exec.Command(c.gc, "controller", "run", "--city", c.root)
	c.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.root, "LANG=C.UTF-8"}
	c.cmd.Env = append(c.cmd.Env, c.env...)
	log, err := os.OpenFile(filepath.Join(c.root, "stderr"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan error) { ended <- cmd.Wait() }(c.cmd, c.ended)
	c.await("answering", func(client.Status) bool { return true })
}

// kill kills the controller.
func (c *city) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	if err := <-c.ended; err == nil {
		c.t.Error("a killed controller ended in order")
	}
}

// await waits until the status fulfills a condition.
func (c *city) await(what string, is func(client.Status) bool) client.Status {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), waitLimit)
	defer cancel()
	looks := time.NewTicker(20 * time.Millisecond)
	defer looks.Stop()
	for {
		status, err := c.client.Status(ctx)
		if err == nil && is(status) {
			return status
		}
		select {
		case <-looks.C:
		case err := <-c.ended:
			c.ended <- err
			text, _ := os.ReadFile(filepath.Join(c.root, "stderr"))
			c.t.Fatalf("the controller ended before it was %s: %v\n%s", what, err, text)
		case <-ctx.Done():
			c.t.Fatalf("the city never was %s; the status is %+v (%v)", what, status, err)
		}
	}
}

// running reports whether every agent runs.
func running(status client.Status) bool {
	for _, a := range status.Agents {
		if a.State != client.StateRunning || a.PID == 0 {
			return false
		}
	}
	return len(status.Agents) > 0
}

func pids(status client.Status) map[string]int {
	out := map[string]int{}
	for _, a := range status.Agents {
		out[a.Name] = a.PID
	}
	return out
}

// stop stops the city and returns the census.
func (c *city) stop() client.Census {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), waitLimit)
	defer cancel()
	census, err := c.client.StopCity(ctx)
	if err != nil {
		c.t.Fatalf("cannot stop the city: %v", err)
	}
	if err := <-c.ended; err != nil {
		c.t.Errorf("the controller ended with: %v", err)
	}
	c.cmd = nil
	return census
}

// remove removes processes and files of the city, also after a failed test.
func (c *city) remove() {
	if c.cmd != nil {
		ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
		defer cancel()
		if _, err := c.client.StopCity(ctx); err != nil {
			c.t.Errorf("cannot clean up the city %s: %v", c.root, err)
			_ = c.cmd.Process.Kill() // the last resort
		}
	}
	if choice, err := os.ReadFile(filepath.Join(c.root, ".gc", "runtime-dir")); err == nil {
		if dir := strings.TrimSpace(string(choice)); strings.Contains(dir, "/gc") {
			_ = os.RemoveAll(dir) // a temporary folder
		}
	}
	_ = os.RemoveAll(c.root) // a temporary folder
}
