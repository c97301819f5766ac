package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// fault is a fault of an agent, and the words that the explanation must contain: those of the root cause, not
// of the consequence.
type fault struct {
	name    string
	command string // shell; empty: the fake agent with flags
	flags   string
	toml    string
	act     func(t *testing.T, c *city, agent string) // what goes wrong later
	words   []string
}

// faults are the faults of one city. ROOT in words and commands is the city directory.
var faults = []fault{
	{name: "no-binary", command: "exec /nonexistent/agent", words: []string{"/nonexistent/agent"}},
	{name: "not-in-path", command: "agent-nobody-installed", words: []string{"agent-nobody-installed", "not found"}},
	{name: "says-why", command: "echo the license has expired >&2; exit 1", words: []string{"the license has expired", "code 1"}},
	{name: "no-permission", command: "exec ROOT/plain-file", words: []string{"ROOT/plain-file", "ermission denied"}},
	{name: "no-interpreter", command: "exec ROOT/bad-script", words: []string{"bad-script"}},
	{name: "syntax", command: "if then", words: []string{"yntax error"}},
	{name: "port", command: "echo 'listen tcp 127.0.0.1:8443: bind: address already in use' >&2; exit 1", words: []string{"127.0.0.1:8443", "address already in use"}},
	{name: "hook", command: "echo 'hook pre-session.sh: no such file' >&2; exit 4", words: []string{"pre-session.sh", "code 4"}},
	{name: "killed", command: "kill -9 $$", words: []string{"killed"}},
	{name: "faulty", command: "kill -SEGV $$", words: []string{"segmentation fault"}},
	{name: "ends-well", command: "sleep 0.3; exit 0", words: []string{"code 0"}},
	{name: "ends-late", flags: "--exit-after 700ms --exit-code 3 --stderr 'out of tokens'", words: []string{"code 3", "out of tokens"}},
	{name: "hangs", flags: "--hang", words: []string{"3s"}},
	{name: "never-ready", command: "echo warming up the model; exec sleep 1000", toml: "process_names = [\"sleep\"]", words: []string{"warming up the model"}},
	{name: "no-folder", toml: `work_dir = "gone/for/ever"`, words: []string{"gone/for/ever"}},
	{name: "file-folder", toml: `work_dir = "plain-file"`, words: []string{"plain-file"}},
	{name: "pre-start", toml: `pre_start = ["echo the worktree is dirty >&2; exit 9"]`, words: []string{"pre_start", "the worktree is dirty"}},
	{name: "pre-start-hangs", toml: `pre_start = ["sleep 600"]`, words: []string{"pre_start", "sleep 600"}},
	{name: "dangling", toml: `work_dir = "dangling"`, words: []string{"dangling"}},
	{name: "setup", toml: `session_setup = ["echo the theme is missing >&2; exit 5"]`, words: []string{"session_setup", "the theme is missing"}},
	{name: "live", toml: `session_live = ["echo no status bar here >&2; exit 6"]`, words: []string{"session_live", "no status bar here"}},
	{name: "secret", toml: "provider = \"claude\"\nupstream = \"sealed\"", words: []string{"NOBODY_SET_THIS"}},
	{name: "waits-for", toml: `depends_on = ["says-why"]`, words: []string{"waits for says-why"}},
	{name: "suspended", toml: "suspended = true", words: []string{"suspended"}},
	{name: "draft", flags: "--draft 'half a thought'", toml: `nudge = "begin"`, words: []string{"a person's text is in its input box"}},
	{name: "asks", act: func(t *testing.T, c *city, agent string) {
		t.Helper()
		nudge(t, c, agent, "[[ask:Delete the production database?|Yes|No]]")
	}, words: []string{"waiting", "Delete the production database?"}},
	{name: "put-to-sleep", act: func(t *testing.T, c *city, agent string) {
		t.Helper()
		done, err := c.client.Sleep(t.Context(), agent, client.LifecycleRequest{Reason: "nights are for sleeping"})
		accept(t, done, err)
	}, words: []string{"asleep", "nights are for sleeping"}},
	{name: "put-aside", act: func(t *testing.T, c *city, agent string) {
		t.Helper()
		done, err := c.client.Suspend(t.Context(), agent, client.LifecycleRequest{Reason: "it costs too much"})
		accept(t, done, err)
	}, words: []string{"suspended", "it costs too much"}},
	{name: "drains", act: func(t *testing.T, c *city, agent string) {
		t.Helper()
		done, err := c.client.Drain(t.Context(), agent, client.LifecycleRequest{Reason: "an upgrade", Timeout: time.Hour})
		accept(t, done, err)
	}, words: []string{"drain", "an upgrade"}},
	{name: "busy-drift", flags: "--osc7501", act: func(t *testing.T, c *city, agent string) {
		t.Helper()
		nudge(t, c, agent, "[[busy:10m]]")
		c.edit("# drift here", "env = { CHANGED = \"1\" }")
	}, toml: "# drift here", words: []string{"deferred", "busy"}},
	{name: "shot", act: func(t *testing.T, c *city, agent string) {
		t.Helper()
		s, err := c.client.Session(t.Context(), agent)
		if err != nil || s.PID == 0 {
			t.Fatalf("%s has no process: %+v, %v", agent, s.Agent, err)
		}
		p, err := os.FindProcess(s.PID)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}, words: []string{"killed"}},
}

func nudge(t *testing.T, c *city, agent, text string) {
	t.Helper()
	r, err := c.client.Nudge(t.Context(), agent, client.NudgeRequest{Text: text, Wait: client.ReceiptSubmitted})
	if err != nil || r.State != client.ReceiptSubmitted && r.State != client.ReceiptConsumed {
		t.Errorf("%s was not prompted: %+v, %v", agent, r, err)
	}
}

func accept(t *testing.T, done client.Done, err error) {
	t.Helper()
	if err != nil || !done.Changed {
		t.Errorf("an order gives %+v, %v", done, err)
	}
}

// edit replaces text in city.toml and puts it into force.
func (c *city) edit(old, replacement string) {
	c.t.Helper()
	path := filepath.Join(c.root, client.CityFile)
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		c.t.Fatalf("city.toml has no %q", old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, replacement, 1)), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.client.Reload(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// TestExplainNamesTheRootCause checks that the explanation of each agent has the words of the
// root cause within a limit.
func TestExplainNamesTheRootCause(t *testing.T) {
	members := make([]member, 0, len(faults))
	for _, f := range faults {
		members = append(members, member{name: f.name, flags: f.flags, toml: f.toml})
	}
	c := newCityOf(t, "[session]\nstartup_timeout = \"3s\"\nsetup_timeout = \"2s\"\n[upstreams.sealed]\napi_key = \"env:NOBODY_SET_THIS\"\n", members)
	c.plant()
	c.start()
	for _, f := range faults {
		if f.act != nil {
			c.awaitAgent(f.name, client.StateRunning)
			f.act(t, c, f.name)
		}
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) { c.explained(t, f) })
	}
	if status, err := c.client.Status(t.Context()); err == nil {
		for _, a := range status.Agents {
			t.Logf("%-16s %-12s %s", a.Name, a.State, a.Reason)
		}
	}
	c.stop()
}

// plant makes the files of the faults and sets the commands.
func (c *city) plant() {
	c.t.Helper()
	path := filepath.Join(c.root, client.CityFile)
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	edited := string(text)
	for _, f := range faults {
		if f.command == "" {
			continue
		}
		entry := fmt.Sprintf("name = %q\nstart_command = ", f.name)
		_, rest, _ := strings.Cut(edited, entry)
		line, _, _ := strings.Cut(rest, "\n")
		edited = strings.Replace(edited, entry+line, entry+fmt.Sprintf("%q", strings.ReplaceAll(f.command, "ROOT", c.root)), 1)
	}
	for file, content := range map[string]string{client.CityFile: edited, "plain-file": "no program\n", "bad-script": "#!/no/such/interpreter\n"} {
		if err := os.WriteFile(filepath.Join(c.root, file), []byte(content), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(c.root, "bad-script"), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Symlink("/nowhere/at/all", filepath.Join(c.root, "dangling")); err != nil {
		c.t.Fatal(err)
	}
}

func (c *city) awaitAgent(name, state string) client.Agent {
	c.t.Helper()
	var found client.Agent
	c.await(name+" "+state, func(s client.Status) bool {
		for _, a := range s.Agents {
			if a.Name == name && a.State == state {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

// explained waits until the explanation of an agent names its fault.
func (c *city) explained(t *testing.T, f fault) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var missing []string
	var text string
	for {
		e, err := c.client.Explain(ctx, f.name)
		if err == nil {
			e.Agent.Name, e.Agent.Session = "", "" // the name of a fault is no explanation
			e.Recent = nil                         // the words must be in the explanation itself
			data, err := json.MarshalIndent(e, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
			missing = missing[:0]
			for _, word := range f.words {
				if !strings.Contains(text, strings.ReplaceAll(word, "ROOT", c.root)) {
					missing = append(missing, word)
				}
			}
			if len(missing) == 0 {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Errorf("the explanation of %s lacks %q (%v):\n%s", f.name, missing, err, text)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}
