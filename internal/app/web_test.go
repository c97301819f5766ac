package app

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"gascity/client"
)

// TestTheDoctorReachesTheHosts checks that the doctor distinguishes a host that reaches the web console, a proxy that changes the
// name, another program, and a host without an answer.
func TestTheDoctorReachesTheHosts(t *testing.T) {
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nothing := closed.Addr().String()
	_ = closed.Close()
	var to *url.URL
	proxy := func(rewrite func(*httputil.ProxyRequest)) string {
		s := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to); rewrite(p) }})
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	right := proxy(func(p *httputil.ProxyRequest) { p.Out.Host = p.In.Host })
	renamed := proxy(func(p *httputil.ProxyRequest) { p.Out.Host = "elsewhere" })
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	another := strings.TrimPrefix(other.URL, "http://")
	d, root := newDaemon(t), newCity(t, oneAgent+`
[web]
enabled = true
hosts = ["`+right+`", "`+renamed+`", "`+another+`", "`+nothing+`"]
`)
	r := runController(t, d, root)
	defer r.stopCity()
	on, err := r.client.Web(t.Context())
	if err != nil || !on.Running {
		t.Fatalf("the web console is %+v, %v", on, err)
	}
	if to, err = url.Parse(on.URL); err != nil {
		t.Fatal(err)
	}
	_, all := examine(t, d, root)
	got := map[string]string{}
	for _, f := range all {
		got[f.Check] = f.Level + ": " + f.Message
	}
	for check, want := range map[string]string{
		"web": client.LevelOK + ": the web console is on", "web." + right: client.LevelOK + ": http://" + right + " reaches the web console", "web." + renamed: "with another header Host",
		"web." + another: "it is not the web console", "web." + nothing: "cannot be reached from this machine",
	} {
		if !strings.Contains(got[check], want) {
			t.Errorf("the doctor says of %s %q, want %q", check, got[check], want)
		}
	}
}

// TestAConfiguredWebConsoleFollowsItsSection checks that edits of the [web] section start and stop the web console, and that a
// wrong section is refused.
func TestAConfiguredWebConsoleFollowsItsSection(t *testing.T) {
	d, root := newDaemon(t), newCity(t, oneAgent)
	r := runController(t, d, root)
	defer r.stopCity()
	until := func(what string, is func(client.Web) bool) {
		t.Helper()
		r.until("a", what, func(client.Agent) bool {
			on, err := r.client.Web(t.Context())
			return err == nil && is(on)
		})
	}
	until("off", func(on client.Web) bool { return !on.Running })
	write(t, root+"/city.toml", oneAgent+"[web]\nenabled = true\n")
	until("on", func(on client.Web) bool { return on.Running })
	write(t, root+"/city.toml", oneAgent+"[web]\nenabled = true\nhosts = [\"box.example\"]\n")
	until("on with a host", func(on client.Web) bool { return len(on.URLs) == 2 })
	write(t, root+"/city.toml", oneAgent)
	until("off again", func(on client.Web) bool { return !on.Running })
	for _, wrong := range []string{`listen = "0.0.0.0:8420"`, `listen = "8420"`, `hosts = ["https://"]`, `hosts = ["a b"]`, `hosts = ["*"]`, `cert_file = "city.toml"`} {
		write(t, root+"/city.toml", oneAgent+"[web]\nenabled = true\n"+wrong+"\n")
		if _, err := r.client.Reload(t.Context()); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}
