package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/client"
)

// TestBundleAfterACrash has an agent exit by itself and kills the controller. One file has the last
// output and the events, and no credential.
func TestBundleAfterACrash(t *testing.T) {
	const secret, word = "c4n4ry-in-a-file", "sesame-open-9"
	c := newCityOf(t, "[upstreams.sealed]\nauth_token = \"file:sealed\"\n", []member{
		{name: "crashes", flags: "--exit-after 300ms --exit-code 7 --stderr MY_TOKEN=$(cat word)-and-$(cat sealed)"},
		{name: "keeper", toml: "provider = \"claude\"\nupstream = \"sealed\""},
	})
	for file, text := range map[string]string{"word": word, "sealed": secret} {
		if err := os.WriteFile(filepath.Join(c.root, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.start()
	c.await("an end of the one that crashes", func(s client.Status) bool { return s.Agents[0].Exit != "" })
	c.awaitAgent("keeper", client.StateRunning)
	alive := c.bundle(t)
	if alive["status.json"] == "" || alive["agents/keeper/explain.json"] == "" || alive["agents/keeper/screen.txt"] == "" {
		t.Errorf("while the controller answers there are %v", names(alive))
	}
	c.kill()
	dead := c.bundle(t)
	for page, want := range map[string]string{
		"README.txt": "status.json", "events.jsonl": `"session.exited"`, "controller.log": "level=", "config.json": "keeper",
		"doctor.json": `"level": "ok"`, "about.json": "version", "output/gc-town-crashes.txt": "MY_TOKEN=********",
	} {
		if !strings.Contains(dead[page], want) {
			t.Errorf("%s lacks %q:\n%.500s", page, want, dead[page])
		}
	}
	for page, text := range dead {
		if all := text + alive[page]; strings.Contains(all, secret) || strings.Contains(all, word) {
			t.Errorf("%s holds a secret", page)
		}
	}
	c.start()
	c.awaitAgent("keeper", client.StateRunning)
	c.stop()
}

// bundle creates a bundle and returns its files.
func (c *city) bundle(t *testing.T) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bundle.tgz")
	run := func() ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), c.gc, "bundle", file, "--city", c.root)
		cmd.WaitDelay = time.Minute
		return cmd.CombinedOutput()
	}
	if out, err := run(); err != nil {
		t.Fatalf("gc bundle: %v\n%s", err, out)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file is %v, %v, want one that only its owner can read", info, err)
	}
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err == nil || !strings.Contains(string(out), "exists; name another file: gc bundle FILE") {
		t.Errorf("a second bundle in one file: %v\n%s", err, out)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return pages
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(head.Name, "/")
		pages[name] = string(text)
	}
}

func names(pages map[string]string) []string {
	var out []string
	for name := range pages {
		out = append(out, name)
	}
	return out
}
