package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/internal/config"
	"gascity/internal/redact"
)

// unpack returns the files of a bundle.
func unpack(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[head.Name] = string(text)
	}
}

func textPage(name, text string, err error) bundlePage {
	return bundlePage{Name: name, Printed: true, Read: func(context.Context) ([]byte, error) { return []byte(text), err }}
}

func TestABundleHasWhatCanBeHadAndSaysWhatNot(t *testing.T) {
	known := &redact.Redactor{}
	known.Hide("correct-horse")
	var out bytes.Buffer
	w := &bundleWriter{Folder: "gc-town", Now: time.Unix(0, 0), Hide: known.Text}
	summary, err := w.Write(t.Context(), &out, []bundlePage{
		textPage("a/whole.txt", "it said correct-horse\n", nil),
		textPage("none.txt", "", errors.New("the battery staple of correct-horse is gone")),
		textPage("half.txt", "as far as it goes", errors.New("it broke off")),
		textPage("empty.txt", "", nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, out.Bytes())
	if got := files["gc-town/a/whole.txt"]; got != "it said "+config.Masked+"\n" {
		t.Errorf("the page is %q", got)
	}
	if got := files["gc-town/half.txt"]; got != "as far as it goes" {
		t.Errorf("of the page that broke off there is %q", got)
	}
	if len(files) != 3 || len(summary.Pages) != 2 || len(summary.Missing) != 2 {
		t.Errorf("the bundle has %v, its summary %+v", files, summary)
	}
	readme := files["gc-town/README.txt"]
	if !strings.Contains(readme, "none.txt: the battery staple of "+config.Masked) || !strings.Contains(readme, "half.txt: it broke off") {
		t.Errorf("it says of what is missing:\n%s", readme)
	}
}

func TestAFullDiskEndsABundle(t *testing.T) {
	w := &bundleWriter{Folder: "gc-town", Hide: strings.Clone}
	full := errors.New("no space left on device")
	if _, err := w.Write(t.Context(), failingWriter{full}, []bundlePage{textPage("a", strings.Repeat("x", 1<<20), nil)}); !errors.Is(err, full) {
		t.Errorf("the bundle ended with %v, want what its writer said", err)
	}
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

func TestTokensAreKnownByTheirLooks(t *testing.T) {
	hide := newTokens()
	for _, secret := range []string{
		"sk-ant-api03-abcdefghijklmnop", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "github_pat_11ABCDEFG0abcdefghijkl", "AKIAIOSFODNN7EXAMPLE",
		"AIzaSyA-abcdefghijklmnopqrstuvwxyz01234", "xoxb-1234567890-abcdef", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_def-ghi",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA",
	} {
		if got := hide.hide("before "+secret, false); got != "before "+config.Masked {
			t.Errorf("%q became %q", secret, got)
		}
	}
	for text, want := range map[string]string{
		"MY_API_KEY=abcdefg1":                     "MY_API_KEY=********",
		`export NPM_TOKEN="abcdefg1"; ls`:         `export NPM_TOKEN="********"; ls`,
		`{"api_key": "abcdefg1", "model": "big"}`: `{"api_key": "********", "model": "big"}`,
		"Authorization: Bearer abcdefg1":          "Authorization: Bearer ********",
		"saying: MY_TOKEN=abcdefg1=":              "saying: MY_TOKEN=********",
		"input_tokens: 1234567":                   "input_tokens: 1234567",
		"HOME=/root/somewhere":                    "HOME=/root/somewhere",
		"the key: it is under the mat":            "the key: it is under the mat",
	} {
		if got := hide.hide(text, true); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	const page = `{"key": "agents.one.env", "value": "MY_TOKEN=abcdefg1", "tokens": 1234567}`
	if got, want := hide.hide(page, false), `{"key": "agents.one.env", "value": "MY_TOKEN=********", "tokens": 1234567}`; got != want {
		t.Errorf("of a page of ours %s", got)
	}
}

func TestOutputOfTheLatestSessions(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string, age time.Duration) {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("old.log", "\x1b[31mred\x1b[0m\n", time.Hour)
	write("new.log", "second\n", 0)
	write("new.log.1", "first\n", time.Minute)
	write("long.log", "token-that-is-cut\n"+strings.Repeat("x", shortTail-4)+"\n", time.Minute)
	write("controller.log", "started\n", 0)
	var names []string
	text := map[string]string{}
	for _, page := range newLogPages(folder, "controller.log") {
		out, err := page.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, page.Name)
		text[page.Name] = string(out)
	}
	if got := strings.Join(names, " "); got != "output/new.txt output/long.txt output/old.txt" {
		t.Errorf("pages %s", got)
	}
	if text["output/new.txt"] != "first\nsecond\n" || text["output/old.txt"] != "red\n" || strings.Contains(text["output/long.txt"], "cut") {
		t.Errorf("output %.200q", text)
	}
}
