package web_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"gascity/client"
	"gascity/internal/server/controlapi"
	"gascity/internal/web"
)

// discarded is an event log that stores nothing.
type discarded struct{}

// Append implements web.EventLog.
func (discarded) Append(_ context.Context, e client.Event) (client.Event, error) { return e, nil }

// startPage is a start page whose calls are counted.
type startPage struct {
	server *web.Server
	routes []controlapi.Mounted
	base   string
	calls  atomic.Int64
	home   string
}

func newStartPage(t *testing.T) *startPage {
	t.Helper()
	s := &startPage{home: t.TempDir()}
	s.server = web.New(web.Options{
		File: filepath.Join(t.TempDir(), "web.json"), ID: "0123456789ab", Version: "test", Events: discarded{}, Log: slog.New(slog.DiscardHandler), Now: time.Now, Files: fstest.MapFS{}, Start: true,
	})
	t.Cleanup(s.server.Close)
	s.routes = s.server.StartRoutes(web.StartPage{
		Home: s.home, Folder: s.home, Created: func() { s.calls.Add(100) },
		AgentCLIs: func(context.Context) ([]web.StartCLI, error) {
			s.calls.Add(1)
			return []web.StartCLI{{Name: "claude", State: "found"}}, nil
		},
		Create: func(_ context.Context, req web.StartRequest) (web.Started, error) {
			s.calls.Add(1)
			if req.Provider == "broken" {
				return web.Started{}, fmt.Errorf("%w: it is broken", client.ErrRefused)
			}
			return web.Started{Root: req.Folder, Link: "http://127.0.0.1:1/#code=x"}, nil
		},
	})
	s.server.Begin(t.Context(), s.routes)
	on, err := s.server.StartWeb(t.Context(), client.WebRequest{})
	if err != nil {
		t.Fatal(err)
	}
	s.base = strings.TrimSuffix(on.URL, "/")
	return s
}

// signIn signs a new browser in.
func (s *startPage) signIn(t *testing.T, scope client.Scope) *browser {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	b := &browser{t: t, base: s.base, http: &http.Client{Transport: transport, Timeout: deadline}}
	code, err := s.server.NewWebCode(t.Context(), client.WebCodeRequest{Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	b.enter(code.Code)
	return b
}

// TestNoAttackOnTheStartPageIsAnswered sends the attack table to all routes of the start page: no
// handler is called.
func TestNoAttackOnTheStartPageIsAnswered(t *testing.T) {
	s := newStartPage(t)
	a := &attacker{t: t, own: s.signIn(t, client.ScopeManage), see: s.signIn(t, client.ScopeSee), gone: s.signIn(t, client.ScopeManage), targets: targets(s.routes), signIn: func() *browser { return s.signIn(t, client.ScopeManage) }}
	a.connect(strings.TrimPrefix(s.base, "http://"))
	devices, err := s.server.WebDevices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.server.RevokeWebDevice(t.Context(), devices[len(devices)-1].ID); err != nil {
		t.Fatal(err)
	}
	for _, route := range s.routes { // each of them reads or writes as the user
		if route.Scope != client.ScopeManage {
			t.Errorf("%s needs the scope %q, want %q", route.ID, route.Scope, client.ScopeManage)
		}
	}
	a.state = func() string { return fmt.Sprint(s.calls.Load()) }
	for _, f := range a.run() {
		t.Error(f)
	}
	if n := s.calls.Load(); n != 0 {
		t.Errorf("attacks called handlers %d times", n)
	}
	if got := a.own.text(a.own.request(http.MethodGet, "/api/v1/start", "")); !strings.Contains(got, `"claude"`) {
		t.Errorf("the page gets %s", got)
	}
	if res := a.own.request(http.MethodPost, "/api/v1/start", `{"folder":"shop","provider":"broken"}`); res.StatusCode != http.StatusConflict || s.calls.Load() != 2 {
		t.Errorf("a failed start answers %s", res.Status)
	}
	if got := a.own.text(a.own.request(http.MethodPost, "/api/v1/start", `{"folder":"shop"}`)); !strings.Contains(got, filepath.Join(s.home, "shop")) || s.calls.Load() != 103 {
		t.Errorf("the start answers %s after %d calls", got, s.calls.Load())
	}
	if got := a.own.text(a.own.request(http.MethodGet, "/auth/me", "")); !strings.Contains(got, `"start":true`) {
		t.Errorf("the page does not learn that there is no city: %s", got)
	}
}

// TestFoldersAreCompleted lists only visible directories below the home directory.
func TestFoldersAreCompleted(t *testing.T) {
	s := newStartPage(t)
	outside := t.TempDir()
	for _, dir := range []string{"projects/shop", "projects/site", "projects/.git", ".ssh/keys", "Old"} {
		if err := os.MkdirAll(filepath.Join(s.home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(outside, "private"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"projects/out": outside, "projects/hidden": filepath.Join(s.home, ".ssh"), "projects/in": filepath.Join(s.home, "Old")} {
		if err := os.Symlink(to, filepath.Join(s.home, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"projects/shop/city.toml", "projects/file"} {
		if err := os.WriteFile(filepath.Join(s.home, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := s.signIn(t, client.ScopeManage)
	for typed, want := range map[string][]string{
		"":                           {"Old", "projects"},
		"~":                          {"Old", "projects"},
		"~/pro":                      {"projects"},
		"old":                        {"Old"},
		s.home + "/projects/":        {"projects/in", "projects/shop", "projects/site"},
		s.home + "/projects/s":       {"projects/shop", "projects/site"},
		s.home + "/projects/.g":      {},
		s.home + "/.ssh/":            {},
		s.home + "/projects/out/":    {},
		s.home + "/projects/hidden/": {},
		s.home + "/projects/../../":  {},
		outside + "/":                {},
		"/":                          {},
		"/etc/":                      {},
		s.home + "/absent/":          {},
	} {
		text := b.text(b.request(http.MethodGet, "/api/v1/start/folders?path="+typed, ""))
		var paths []string
		for _, w := range want {
			paths = append(paths, `"path":"`+filepath.Join(s.home, w)+`"`)
		}
		if strings.Count(text, `"path"`) != len(want) {
			t.Errorf("%q is completed to %s, want %v", typed, text, want)
		}
		for _, p := range paths {
			if !strings.Contains(text, p) {
				t.Errorf("%q is completed to %s, want %s", typed, text, p)
			}
		}
	}
	if text := b.text(b.request(http.MethodGet, "/api/v1/start/folders?path="+s.home+"/projects/sh", "")); !strings.Contains(text, `"city":true`) {
		t.Errorf("a folder with a city is %s", text)
	}
}
