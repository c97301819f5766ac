package web_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/web"
)

// withSources serves the files of a directory as sources of the page.
func withSources(o *web.Options) {
	o.Sources = func(dir string) (fs.FS, error) {
		if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
			return nil, err
		}
		return os.DirFS(dir), nil
	}
}

// newSources returns a directory with a page.
func newSources(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writePage(t, dir, "first")
	return dir
}

func writePage(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The page of a directory is served as it is now, is stored by no browser, and has the same headers and checks as the page of the
// binary. It is served until the web console stops.
func TestThePagesOfACheckout(t *testing.T) {
	b := newBench(t, web.Settings{}, withSources)
	own := b.signedIn(t, client.ScopeManage)
	if text := own.text(own.request(http.MethodGet, "/", "")); !strings.Contains(text, "Gas City") {
		t.Fatalf("the page of the binary is %s", text)
	}
	policy := own.request(http.MethodGet, "/", "").Header.Get("Content-Security-Policy")
	dir := newSources(t)
	on, err := b.StartWeb(t.Context(), client.WebRequest{Dev: dir})
	if err != nil || on.Dev != dir || on.URL != own.base+"/" {
		t.Fatalf("the web console is %+v, %v; want the pages of %s at the same address", on, err, dir)
	}
	own.http.CloseIdleConnections()
	for _, text := range []string{"first", "second"} {
		writePage(t, dir, text)
		res := own.request(http.MethodGet, "/", "")
		if got := own.text(res); got != text || res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("Content-Security-Policy") != policy || policy == "" {
			t.Errorf("the page is %q, want %q; its headers are %v", got, text, res.Header)
		}
	}
	if res := own.request(http.MethodGet, "/auth/me", ""); res.StatusCode != http.StatusOK {
		t.Errorf("the device gets %s", res.Status)
	}
	for what, change := range map[string]func(*http.Request){
		"another host": func(r *http.Request) { r.Host = "evil.example" }, "no key": func(r *http.Request) { r.Header.Del(web.KeyHeader) },
	} {
		if res := own.request(http.MethodGet, "/auth/me", "", change); res.StatusCode != http.StatusForbidden && res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s gets %s", what, res.Status)
		}
	}
	if on, err := b.StartWeb(t.Context(), client.WebRequest{}); err != nil || on.Dev != dir {
		t.Errorf("a start without a directory gives %+v, %v", on, err)
	}
	if _, err := b.StopWeb(t.Context()); err != nil {
		t.Fatal(err)
	}
	if on, err := b.StartWeb(t.Context(), client.WebRequest{}); err != nil || on.Dev != "" {
		t.Errorf("after a stop the web console is %+v, %v", on, err)
	}
	own.http.CloseIdleConnections()
	if text := own.text(own.request(http.MethodGet, "/", "")); !strings.Contains(text, "Gas City") {
		t.Errorf("after a stop the page is %s", text)
	}
}

// The page of a directory is refused where other hosts can reach the web console, and nothing changes then.
func TestThePagesOfACheckoutAreOnlyForThisMachine(t *testing.T) {
	dir := newSources(t)
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, certFile, keyFile, "first")
	for name, c := range map[string]struct {
		settings web.Settings
		request  client.WebRequest
		wants    string
	}{
		"all addresses":       {web.Settings{CertFile: certFile, KeyFile: keyFile}, client.WebRequest{Listen: "0.0.0.0:0", Dev: dir}, "other hosts can reach 0.0.0.0:0"},
		"a configured proxy":  {web.Settings{Hosts: []string{"https://box.example"}}, client.WebRequest{Dev: dir}, "remove hosts"},
		"a relative path":     {web.Settings{}, client.WebRequest{Dev: "internal/web/ui"}, "not an absolute path"},
		"a directory without": {web.Settings{}, client.WebRequest{Dev: filepath.Dir(dir)}, "index.html"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.settings, withSources)
			before, err := b.Web(t.Context())
			if err != nil || !before.Running {
				t.Fatalf("the web console is %+v, %v", before, err)
			}
			if _, err := b.StartWeb(t.Context(), c.request); !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), c.wants) {
				t.Errorf("the start gives %v, want %q", err, c.wants)
			}
			if now, err := b.Web(t.Context()); err != nil || now.URL != before.URL || now.Dev != "" {
				t.Errorf("the web console is %+v, %v; was %+v", now, err, before)
			}
			if on, err := b.StartWeb(t.Context(), client.WebRequest{}); err != nil || on.Dev != "" {
				t.Errorf("the next start gives %+v, %v", on, err)
			}
		})
	}
	b := newBench(t, web.Settings{CertFile: certFile, KeyFile: keyFile}, withSources)
	if _, err := b.StartWeb(t.Context(), client.WebRequest{Dev: dir}); err != nil {
		t.Fatal(err)
	}
	if on, err := b.StartWeb(t.Context(), client.WebRequest{Listen: "0.0.0.0:0"}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("with the pages of a checkout the web console moves to all addresses: %+v, %v", on, err)
	}
	without := newBench(t, web.Settings{})
	if _, err := without.StartWeb(t.Context(), client.WebRequest{Dev: dir}); !errors.Is(err, client.ErrUnsupported) {
		t.Errorf("a server without sources: %v", err)
	}
}
