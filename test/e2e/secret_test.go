package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
)

// canary is the prefix of every secret of the test. The rest names its owner.
const canary = "c4n4ry-5f1d2e-"

// sealed is a city whose agents have credentials of every kind, of the upstream "one" and of the upstream "two".
const sealed = `[upstreams.one]
api_key = "env:CANARY_KEY"
auth_token = "file:%[1]s/one"
[upstreams.two]
api_key = "command:cat %[1]s/two"
auth_token = "c4n4ry-5f1d2e-two-written"
[credentials.team]
command = "cat %[1]s/team"
variable = "TEAM_TOKEN"
`

// TestSecretsAreInNoOtherPlace sets a marker as each credential and runs a city with an agent at each provider from
// start to stop. It searches for the markers, and for the tokens of the runs, in every command line, every
// process environment, the output of tmux, every file and the responses of the API. An agent has its own in its
// environment, and nothing else has any.
func TestSecretsAreInNoOtherPlace(t *testing.T) {
	outside := t.TempDir()
	for _, name := range []string{"one", "two", "team"} {
		owner := strings.Replace(name, "team", "one-team", 1)
		if err := os.WriteFile(filepath.Join(outside, name), []byte(canary+owner+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := newCityOf(t, fmt.Sprintf(sealed, outside), []member{
		{name: "crashes", flags: "--exit-after 500ms --exit-code 1 --stderr gone", toml: "provider = \"claude\"\nupstream = \"one\""},
	})
	c.env = []string{"CANARY_KEY=" + canary + "one-env"}
	where := c.addSealed(t)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var found sync.Map
	group.Go(func() { watchCommandLines(ctx, canary, &found) })
	c.start()
	c.waitPlaced(where)
	nudge(t, c, "pty", "hello")
	answers := c.everything(t)
	c.kill()
	c.start()
	c.waitPlaced(where)
	answers += c.everything(t)
	cancel()
	group.Wait()
	found.Range(func(line, _ any) bool {
		t.Errorf("a command line holds the secret: %q", line)
		return true
	})
	if strings.Contains(answers, canary) {
		t.Error("an answer of the API holds the secret")
	}
	if len(answers) < 1000 {
		t.Errorf("the answers of the API have %d bytes: nothing was looked at", len(answers))
	}
	secrets := append(c.census(t, where), canary)
	c.checkTmuxEnvironment(t, secrets)
	c.searches(t, c.shimsDir(t), secrets)
	c.stop()
	c.searches(t, c.root, secrets)
}

// addSealed adds an agent at each place, of the upstreams by turns, and returns where.
func (c *city) addSealed(t *testing.T) map[string]string {
	t.Helper()
	where := map[string]string{}
	for i, place := range c.places(t) {
		flags, toml := "", "ready_prompt_prefix = \"❯\"\n"
		switch {
		case strings.HasPrefix(place, "exec:"): // test/e2e/scripts has them
			continue
		case place == "subprocess":
			flags, toml = piped, pipedToml
		case place == "acp":
			flags, toml = "--acp", ""
		}
		toml += "provider = \"claude\"\nupstream = \"two\"\n"
		if i%2 == 0 {
			toml = strings.Replace(toml, "two", "one", 1) + "credentials = [\"team\"]\n"
		}
		c.add(place, place, flags, toml)
		where[place] = place
	}
	return where
}

// everything reads all resources of the API.
func (c *city) everything(t *testing.T) string {
	t.Helper()
	ctx := t.Context()
	var out strings.Builder
	tell := func(v any, err error) {
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&out, "%+v\n", v)
	}
	status, err := c.client.Status(ctx)
	tell(status, err)
	for _, a := range status.Agents {
		session, err := c.client.Session(ctx, a.Name)
		tell(session, err)
		e, err := c.client.Explain(ctx, a.Name)
		tell(e, err)
	}
	config, err := c.client.Config(ctx)
	tell(config, err)
	events, err := c.client.PastEvents(ctx, 0)
	tell(events, err)
	queue, err := c.client.Queue(ctx, "", client.WithEnded)
	tell(queue, err)
	return out.String()
}

// watchCommandLines reads the command lines of what is started until ctx ends.
func watchCommandLines(ctx context.Context, canary string, found *sync.Map) {
	before := map[string]bool{}
	for first := true; ctx.Err() == nil; first = false {
		all, _ := os.ReadDir("/proc")
		for _, process := range all {
			pid := process.Name()
			if before[pid] = before[pid] || first; before[pid] {
				continue
			}
			if argv, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline")); err == nil && bytes.Contains(argv, []byte(canary)) {
				found.Store(string(argv), true)
			}
		}
		pause(5 * time.Millisecond)
	}
}

func (c *city) shimsDir(t *testing.T) string {
	t.Helper()
	dir, err := os.ReadFile(filepath.Join(c.root, ".gc", "runtime-dir"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(dir))
}

// searches searches for secrets in every file below a folder, and for modes that let others in.
func (c *city) searches(t *testing.T, root string, secrets []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what has gone holds nothing
		}
		ours := root != c.root || strings.HasPrefix(path, filepath.Join(root, ".gc")) || strings.HasPrefix(path, filepath.Join(root, ".runtime"))
		if info, err := d.Info(); err == nil && ours && d.Type() != fs.ModeSymlink && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %s", path, info.Mode())
		}
		if !d.Type().IsRegular() || d.Name() == "gc" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if path == filepath.Join(root, client.CityFile) {
			content = bytes.ReplaceAll(content, []byte(canary+"two-written"), nil) // where a person wrote it
		}
		for _, secret := range secrets {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s holds the secret %q", path, secret)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
