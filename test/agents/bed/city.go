package bed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/mockmodel"
	"gascity/test/fakeagent/build"
)

// StepTimeout is how long anything of an agent may take on a loaded machine.
const StepTimeout = 5 * time.Minute

// Member is one agent of a city.
type Member struct {
	Name    string // in the city; also the mock's caller
	CLI     string
	Seeds   HomeState // empty: [Seeded]
	TOML    string
	Env     map[string]string // beside that of its seat
	Bare    bool              // it gets no first prompt
	Files   map[string]string // in the city directory, by name
	City    string            // TOML of the city as a whole
	Profile string            // empty: that of the CLI
	GC      string            // gc for the city as a whole; empty: [Program]
}

// City is a city of real agents that is driven by gc's commands.
type City struct {
	Root     string
	GC       string
	Model    *mockmodel.Server
	Tripwire *Tripwire
	Vendor   *VendorHost // nil if no member's Seeds is [Unused]
	Client   *client.Client
	Homes    map[string]AgentHome
	Found    map[string]Installed // by agent
	env      []string
}

// programDir returns the folder of the program that this process builds.
func programDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("gc-agents-%d", os.Getpid()))
}

// Program returns the path of gc: the value of GC_AGENTS_GC or, if that is empty, of a program that
// is built once for the test process.
var Program = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("GC_AGENTS_GC"); path != "" {
		return path, nil
	}
	if err := os.Mkdir(programDir(), 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(programDir(), "gc")
	return path, build.Program(path, "gascity/cmd/gc")
})

// RemoveBuild removes the program that this test process built. TestMain calls it at the end.
func RemoveBuild() {
	_ = os.RemoveAll(programDir()) // the directory may not exist
}

// Need installs the agent CLI with this name and returns it. If the CLI cannot be installed, the
// test is skipped. If GC_TEST_AGENTS is set, the test fails instead, because that run must test
// every agent CLI.
func Need(tb testing.TB, name string) Installed {
	tb.Helper()
	miss := tb.Skipf
	if os.Getenv("GC_TEST_AGENTS") != "" {
		miss = tb.Fatalf
	}
	c, err := Pinned(name)
	if err != nil {
		tb.Fatal(err)
	}
	shelf, err := OpenShelf()
	if err != nil {
		miss("agents: %v", err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), 15*time.Minute)
	defer cancel()
	found, err := shelf.Install(ctx, c)
	if err != nil {
		miss("agents: %s cannot be installed: %v", name, err)
	}
	if len(found.Refused) > 0 {
		tb.Logf("agents: %s %s is taken, because newer versions cannot be installed:\n%s", name, found.Version, strings.Join(found.Refused, "\n"))
	}
	return found
}

// LacksNewest reports whether this run takes the newest versions and none of the CLI's can
// be installed, so that a test leaves it out.
func LacksNewest(ctx context.Context, name string) bool {
	c, err := Pinned(name)
	if err != nil {
		return false
	}
	shelf, err := OpenShelf()
	if err != nil || !shelf.Latest {
		return false
	}
	_, err = shelf.Install(ctx, c)
	return err != nil
}

// Open creates a city with these members and this runtime provider, and starts the city with gc
// start. At the end of the test the city is stopped and removed.
func Open(tb testing.TB, provider string, members ...Member) *City {
	tb.Helper()
	found := map[string]Installed{}
	for _, m := range members {
		found[m.Name] = Need(tb, m.CLI)
	}
	gc, err := Program()
	if err != nil {
		tb.Fatalf("cannot build gc: %v", err)
	}
	for _, m := range members {
		gc = cmp.Or(m.GC, gc)
	}
	dir, err := folder()
	if err != nil {
		tb.Fatal(err)
	}
	c := &City{Root: dir, GC: gc, Found: found, Homes: map[string]AgentHome{}, Client: &client.Client{Root: dir, Version: "dev"}}
	if c.Model, err = mockmodel.Start(); err != nil {
		tb.Fatal(err)
	}
	if c.Tripwire, err = NewTripwire(); err != nil {
		tb.Fatal(err)
	}
	if slices.ContainsFunc(members, func(m Member) bool { return m.Seeds == Unused }) {
		if c.Vendor, err = OpenVendorHost(filepath.Join(dir, "ca.pem"), vendorAnswers(c.Model)); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(func() { c.remove(tb) })
	path := []string{}
	for _, f := range found {
		path = append(path, f.Bin)
	}
	c.env = []string{"PATH=" + strings.Join(path, ":") + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + filepath.Join(dir, "nobody"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"), "LANG=C.UTF-8"}
	if err := c.write(provider, members); err != nil {
		tb.Fatal(err)
	}
	if out, err := c.Run(tb.Context(), "start"); err != nil {
		tb.Fatalf("gc start: %v\n%s", err, out)
	}
	return c
}

// folder creates a folder for a city and returns its path. The path is short, because it is part of
// the paths of sockets. The folder is in the home directory, because gemini accepts no hooks in a
// folder above which other users can write.
func folder() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(home, ".gca-")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// write writes city.toml and the agents' homes.
func (c *City) write(provider string, members []Member) error {
	var toml strings.Builder
	fmt.Fprintf(&toml, "[workspace]\nname = \"town\"\n[session]\nprovider = %q\nstartup_timeout = \"3m\"\n[daemon]\nshutdown_timeout = \"2s\"\n", provider)
	for _, m := range members {
		if m.Seeds == "" {
			m.Seeds = Seeded
		}
		seat, err := NewAgentHome(c.Found[m.Name].CLI, filepath.Join(c.Root, m.Name), m.Seeds, c.Model.URL(m.Name), c.Tripwire.URL)
		if err != nil {
			return err
		}
		if m.Seeds == Unused {
			for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
				seat.Env[name] = c.Vendor.URL
			}
			seat.Env["NODE_EXTRA_CA_CERTS"], seat.Env["SSL_CERT_FILE"] = c.Vendor.CAFile, c.Vendor.CAFile
		}
		maps.Copy(seat.Env, m.Env)
		c.Homes[m.Name] = seat
		for name, text := range m.Files {
			if err := os.WriteFile(filepath.Join(c.Root, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
		fmt.Fprintf(&toml, "[[agents]]\nname = %q\nprovider = %q\nwork_dir = %q\n%s\n", m.Name, cmp.Or(m.Profile, m.CLI), filepath.Join(m.Name, "work"), m.TOML)
		if len(seat.Args) > 0 {
			fmt.Fprintf(&toml, "args_append = [%s]\n", quoted(seat.Args))
		}
		toml.WriteString("[agents.env]\n")
		for _, name := range slices.Sorted(maps.Keys(seat.Env)) {
			fmt.Fprintf(&toml, "%s = %q\n", name, seat.Env[name])
		}
	}
	for _, m := range members {
		toml.WriteString(m.City)
	}
	return os.WriteFile(filepath.Join(c.Root, client.CityFile), []byte(toml.String()), 0o600)
}

func quoted(words []string) string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = fmt.Sprintf("%q", word)
	}
	return strings.Join(out, ", ")
}

// Run runs gc with the city and returns what it printed. Limits of gc's own end first.
func (c *City) Run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*StepTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.GC, append(args, "--city", c.Root)...)
	cmd.Env, cmd.Dir = c.env, c.Root
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it takes down what it has set up
	cmd.WaitDelay = 15 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// remove removes what the city left, also after a failed test.
func (c *City) remove(tb testing.TB) {
	if _, err := os.Stat(filepath.Join(c.Root, client.CityFile)); err == nil {
		out, err := c.Run(context.Background(), "stop")
		if err != nil && tb.Failed() {
			tb.Logf("gc stop: %v\n%s", err, out)
		}
	}
	err := errors.Join(c.Model.Close(), c.Tripwire.Close())
	if c.Vendor != nil {
		err = errors.Join(err, c.Vendor.Close())
	}
	if choice, readErr := os.ReadFile(filepath.Join(c.Root, ".gc", "runtime-dir")); readErr == nil {
		if dir := strings.TrimSpace(string(choice)); strings.Contains(dir, "/gc") {
			_ = os.RemoveAll(dir) // a temporary folder
		}
	}
	if os.Getenv("GC_AGENTS_KEEP") == "" {
		err = errors.Join(err, os.RemoveAll(c.Root))
	}
	if err != nil {
		tb.Error(err)
	}
}
