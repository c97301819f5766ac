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

	"gascity/client"
)

// TestNoSecretLeavesItsPlace puts a canary into every slot for credentials, runs
// a whole life of a city and looks for it in every command line, every file and
// the answers of the API (R22).
func TestNoSecretLeavesItsPlace(t *testing.T) {
	const canary = "c4n4ry-5f1d2e"
	c := newCrew(t, fmt.Sprintf("[upstreams.sealed]\napi_key = \"env:CANARY_KEY\"\nauth_token = \"file:%s\"\n", "ROOT/secret.txt"), []member{
		{name: "keeper", toml: "provider = \"claude\"\nupstream = \"sealed\""},
		{name: "crashes", flags: "--exit-after 500ms --exit-code 1 --stderr gone", toml: "provider = \"claude\"\nupstream = \"sealed\""},
	})
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.txt")
	if err := os.WriteFile(secret, []byte(canary+"-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.root, client.CityFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("file:ROOT/secret.txt"), []byte("file:"+secret))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c.env = []string{"CANARY_KEY=" + canary + "-env"}

	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var found sync.Map
	group.Go(func() { watchCommandLines(ctx, canary, &found) })
	c.start()
	c.awaitAgent("keeper", client.StateRunning)
	nudge(t, c, "keeper", "hello")
	answers := c.everything(t)
	c.kill()
	c.start()
	c.awaitAgent("keeper", client.StateRunning)
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
	searchFiles(t, c.shimsDir(t), canary)
	c.stop()
	searchFiles(t, c.root, canary)
}

// everything asks the API for all that it tells.
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

// watchCommandLines reads every command line of the machine until ctx ends.
func watchCommandLines(ctx context.Context, canary string, found *sync.Map) {
	for ctx.Err() == nil {
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range lines {
			if argv, err := os.ReadFile(file); err == nil && bytes.Contains(argv, []byte(canary)) {
				found.Store(string(argv), true)
			}
		}
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

func searchFiles(t *testing.T, root, canary string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "gc" {
			return nil //nolint:nilerr // what has gone holds nothing
		}
		content, err := os.ReadFile(path)
		if err == nil && bytes.Contains(content, []byte(canary)) {
			t.Errorf("%s holds the secret", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
