package controlapi_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/citytest"
)

const secretCity = `# api_key = "an-old-credential-in-a-comment"
[workspace]
name = "town" # password = "a-credential-behind-a-value"
[upstreams.paid]
base_url = "https://paid.example/v1"
api_key = 'a-literal-credential'
env = {SOME_TOKEN = "a-token-of-a-table", PLAIN = "# shown_key = not a comment"}
[[notify]]
name = "team"
type = "slack"
url = "https://hooks.example.org/secret-of-a-webhook"
[[notify]]
name = "phone"
type = "ntfy"
topic = "town"
url = "https://ntfy.example.org"
token = "env:NTFY_TOKEN"
[[agents]]
name = "worker"
start_command = "fake_agent"
`

// secretsOf are the credentials in secretCity.
func secretsOf() []string {
	return []string{"an-old-credential-in-a-comment", "a-credential-behind-a-value", "a-literal-credential", "a-token-of-a-table", "secret-of-a-webhook"}
}

// TestConfigFileHidesCredentials checks that the text of city.toml for a page has everything except the credentials, and that the
// same text with one more key is written with all credentials.
func TestConfigFileHidesCredentials(t *testing.T) {
	city := citytest.New(t, secretCity)
	city.AwaitRunning("worker", runtime.ActivityIdle)
	path := filepath.Join(city.Root, client.CityFile)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	c, ctx := city.Client, bounded(t)
	file, err := c.ConfigFile(ctx)
	if err != nil || file.Hidden != 5 || !strings.Contains(file.Text, `url = "https://ntfy.example.org"`) || !strings.Contains(file.Text, `token = "env:NTFY_TOKEN"`) || !strings.Contains(file.Text, `"# shown_key = not a comment"`) || !strings.Contains(file.Text, `base_url = "https://paid.example/v1"`) {
		t.Fatalf("the file is %+v, %v", file, err)
	}
	for _, secret := range secretsOf() {
		if strings.Contains(file.Text, secret) {
			t.Errorf("the text has the credential %s:\n%s", secret, file.Text)
		}
	}
	text := file.Text + "[[agents]]\nname = \"second\"\nstart_command = \"fake_agent\"\n"
	preview, err := c.PreviewConfig(ctx, client.ConfigEdit{Text: text, Hash: file.Hash})
	if err != nil || preview.Hash != file.Hash || !preview.CanApply() || !slices.ContainsFunc(preview.Plan.Actions, func(a client.Action) bool { return a.Verb == "start" && a.Agent == "second" }) {
		t.Fatalf("the preview is %+v, %v", preview, err)
	}
	if onDisk(t, path) != secretCity {
		t.Error("a preview has changed the file")
	}
	if done, err := c.ApplyConfig(ctx, client.ConfigEdit{Text: text, Hash: file.Hash}); err != nil || !done.Changed {
		t.Fatalf("applied: %+v, %v", done, err)
	}
	if got := onDisk(t, path); got != secretCity+"[[agents]]\nname = \"second\"\nstart_command = \"fake_agent\"\n" {
		t.Errorf("the file is now\n%s", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode of the file is %v, %v", info.Mode(), err)
	}
	city.AwaitRunning("second")
}

func onDisk(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestConfigFileIsWrittenOnlyAsRead checks that a text that must not be written is refused and that the file stays as it is.
func TestConfigFileIsWrittenOnlyAsRead(t *testing.T) {
	city := citytest.New(t, secretCity)
	path := filepath.Join(city.Root, client.CityFile)
	c, ctx := city.Client, bounded(t)
	file, err := c.ConfigFile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		edit client.ConfigEdit
		want error
	}{
		"no hash":                 {client.ConfigEdit{Text: file.Text}, client.ErrInvalid},
		"another hash":            {client.ConfigEdit{Text: file.Text, Hash: "x"}, client.ErrRefused},
		"a mistake":               {client.ConfigEdit{Text: file.Text + "mistake = 1\n", Hash: file.Hash}, client.ErrInvalid},
		"not TOML":                {client.ConfigEdit{Text: file.Text + "[[", Hash: file.Hash}, client.ErrInvalid},
		"empty":                   {client.ConfigEdit{Text: " ", Hash: file.Hash}, client.ErrInvalid},
		"an unknown placeholder":  {client.ConfigEdit{Text: file.Text + "# \"********000000\"\n", Hash: file.Hash}, client.ErrInvalid},
		"asterisks":               {client.ConfigEdit{Text: file.Text + "# ********\n", Hash: file.Hash}, client.ErrInvalid},
		"a missing file of rules": {client.ConfigEdit{Text: file.Text + "[guard]\nfiles = [\"absent.toml\"]\n", Hash: file.Hash}, client.ErrInvalid},
	} {
		if _, err := c.ApplyConfig(ctx, test.edit); !errors.Is(err, test.want) {
			t.Errorf("%s gave %v, want %v", what, err, test.want)
		}
	}
	if onDisk(t, path) != secretCity {
		t.Fatal("a refused text has changed the file")
	}
	edited := secretCity + "# by another editor\n"
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ApplyConfig(ctx, client.ConfigEdit{Text: file.Text + "# mine\n", Hash: file.Hash}); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "changed on disk") {
		t.Errorf("a file that has changed gave %v", err)
	}
	if onDisk(t, path) != edited {
		t.Error("the edit of another editor is lost")
	}
	again, err := c.ConfigFile(ctx)
	if err != nil || again.Hash == file.Hash || again.Text != file.Text+"# by another editor\n" {
		t.Errorf("the file is %+v, %v", again, err) // the placeholders stay the same
	}
}

// TestOneOfConcurrentEditsIsWritten: of edits of the same text, one is written and the others are refused.
func TestOneOfConcurrentEditsIsWritten(t *testing.T) {
	city := citytest.New(t, secretCity)
	c, ctx := city.Client, bounded(t)
	file, err := c.ConfigFile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const edits = 8
	results := make([]error, edits)
	var work sync.WaitGroup
	for i := range edits {
		work.Go(func() {
			_, results[i] = c.ApplyConfig(ctx, client.ConfigEdit{Text: fmt.Sprintf("%s# edit %d\n", file.Text, i), Hash: file.Hash})
		})
	}
	work.Wait()
	written := -1
	for i, err := range results {
		switch {
		case err == nil && written < 0:
			written = i
		case err == nil:
			t.Errorf("the edits %d and %d were both written", written, i)
		case !errors.Is(err, client.ErrRefused):
			t.Errorf("edit %d: %v, want %v", i, err, client.ErrRefused)
		}
	}
	if got, want := onDisk(t, filepath.Join(city.Root, client.CityFile)), fmt.Sprintf("%s# edit %d\n", secretCity, written); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
}

// TestPreviewHasPositions returns all mistakes of a text with their positions.
func TestPreviewHasPositions(t *testing.T) {
	city := citytest.New(t, secretCity)
	file, err := city.Client.ConfigFile(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Count(file.Text, "\n")
	got, err := city.Client.PreviewConfig(bounded(t), client.ConfigEdit{Text: file.Text + "provder = \"x\"\n"})
	if err != nil || got.CanApply() || len(got.Faults) != 1 || got.Faults[0].Line != lines+1 || got.Faults[0].Column != 1 || !strings.Contains(got.Faults[0].Hint, "provider") {
		t.Errorf("the preview is %+v, %v", got, err)
	}
}

// TestConfigFileWithMistakes checks that a file that is not valid TOML is shown without its credentials, or refused if gc does
// not know where a credential ends.
func TestConfigFileWithMistakes(t *testing.T) {
	city := citytest.New(t, "[workspace]\n")
	path := filepath.Join(city.Root, client.CityFile)
	for text, want := range map[string]error{
		"[workspace\napi_key = 'a-literal-credential' # so\n":        nil,
		"[workspace\napi_key = \"\"\"\na-literal-credential\"\"\"\n": client.ErrRefused,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := city.Client.ConfigFile(bounded(t))
		if !errors.Is(err, want) || strings.Contains(file.Text, "a-literal") {
			t.Errorf("%q is shown as %q, %v", text, file.Text, err)
		}
	}
}
