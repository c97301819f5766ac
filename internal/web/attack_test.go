package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gascity/client"
	"gascity/internal/server/controlapi"
	"gascity/internal/service/notify/answers"
	"gascity/internal/web"
	"gascity/test/citytest"
)

// target is one route of the web console.
type target struct {
	method, path string
	scope        client.Scope // empty: no device is needed
	maxBody      int64
	changes      bool
	token        string // of the answer button that the request has; empty: it has none
}

// forgedToken has the form of the token of an answer button.
const forgedToken = "q-aaaaaaaa.1.AAAAAAAA.zzzzzz.AAAAAAAAAAAAAAAAAAAAAA"

// answerTarget returns the route of answer buttons, with a token.
func answerTarget(token string) target {
	return target{http.MethodPost, answers.Path, "", 4 << 10, true, token}
}

// targets returns all routes with data or effects: those of a route table, and those of every web
// console.
func targets(mounted []controlapi.Mounted) []target {
	out := []target{
		{http.MethodPost, "/auth/sign-in", "", 4 << 10, true, ""},
		{http.MethodGet, "/auth/me", client.ScopeSee, 0, false, ""},
		{http.MethodPost, "/auth/sign-out", client.ScopeSee, 4 << 10, true, ""},
		{http.MethodPost, "/auth/tickets", client.ScopeSee, 4 << 10, true, ""},
		{http.MethodGet, "/auth/push", client.ScopeSee, 0, false, ""},
		{http.MethodPost, "/auth/push", client.ScopeSee, 4 << 10, true, ""},
		{http.MethodDelete, "/auth/push", client.ScopeSee, 0, true, ""},
		answerTarget(forgedToken),
	}
	fill := strings.NewReplacer("{target}", "worker", "{id}", "x", "{name}", "x")
	for _, m := range mounted {
		out = append(out, target{m.Method, "/api" + fill.Replace(m.Path), m.Scope, m.MaxBody, m.Changes, ""})
	}
	return out
}

// consoleTargets returns all routes of the console of a city with data or effects.
func consoleTargets() []target {
	return targets(controlapi.NewServer(nil, controlapi.Options{}).Mount())
}

// attack is a change of a request that a browser of a signed-in device sends.
type attack struct {
	name  string
	does  func(r *http.Request)
	when  func(t target) bool // nil: always
	wants []int
}

// attacker sends attacks to a web console.
type attacker struct {
	t       *testing.T
	own     *browser // signed in with all scopes
	see     *browser // signed in with the lowest scope
	gone    *browser // signed in and revoked
	http    *http.Client
	targets []target
	state   func() string   // what an attack could change
	signIn  func() *browser // signs a new browser in with all scopes
}

// newAttacker signs the devices in. via is the address to connect to; empty: that of the web
// console.
func newAttacker(t *testing.T, city *citytest.City, own *browser, via string) *attacker {
	t.Helper()
	a := &attacker{t: t, own: own, see: signIn(t, city, client.ScopeSee), gone: signIn(t, city, client.ScopeManage), targets: consoleTargets(), signIn: func() *browser { return signIn(t, city, client.ScopeManage) }, state: func() string { return stateOf(t, city) }}
	devices, err := city.Client.WebDevices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := city.Client.RevokeWebDevice(t.Context(), devices[len(devices)-1].ID); err != nil {
		t.Fatal(err)
	}
	if via == "" {
		via = strings.TrimPrefix(own.base, "http://")
	}
	a.connect(via)
	return a
}

// connect makes the attacker send everything to one address.
func (a *attacker) connect(via string) {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, via)
	}}
	a.t.Cleanup(transport.CloseIdleConnections)
	a.http = &http.Client{Transport: transport, Timeout: deadline}
}

// as makes a request that of another browser.
func as(b *browser) func(r *http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Cookie", b.cookie)
		r.Header.Set(web.KeyHeader, b.key)
	}
}

func set(header, value string) func(r *http.Request) {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(header)] = []string{value} }
}

// rebound makes a request that of a page whose name now points to this machine: for the browser it is
// of the same origin.
func rebound(host string) func(r *http.Request) {
	return func(r *http.Request) {
		r.Host = host
		r.Header.Set("Origin", "http://"+host)
		if r.Method == http.MethodGet {
			r.Header.Del("Origin")
		}
	}
}

// attacks returns the attack table.
func (a *attacker) attacks() []attack {
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(a.own.base, "http://"))
	needsDevice := func(t target) bool { return t.scope != "" }
	unsafe := func(t target) bool { return t.method != http.MethodGet && t.token == "" } // a token proves itself
	forged := func(t target) bool { return t.token == forgedToken }
	forbidden, refused := []int{http.StatusForbidden}, []int{http.StatusUnauthorized}
	without := func(headers ...string) func(*http.Request) {
		return func(r *http.Request) {
			for _, h := range headers {
				r.Header.Del(h)
			}
		}
	}
	list := []attack{
		{"neither cookie nor key", without("Cookie", web.KeyHeader), needsDevice, refused},
		{"a server on another port, which has the cookie but not the key", without(web.KeyHeader), needsDevice, refused},
		{"the key without the cookie", without("Cookie"), needsDevice, refused},
		{"the cookie of another device", set("Cookie", a.see.cookie), needsDevice, refused},
		{"the key of another device", set(web.KeyHeader, a.see.key), needsDevice, refused},
		{"two keys", func(r *http.Request) { r.Header[web.KeyHeader] = []string{a.own.key, a.own.key} }, needsDevice, refused},
		{"a long key", set(web.KeyHeader, strings.Repeat("A", 8000)), needsDevice, refused},
		{"a revoked device", as(a.gone), needsDevice, refused},
		{"a device without the scope", as(a.see), func(t target) bool { return t.scope != "" && t.scope != client.ScopeSee }, forbidden},
		{"foreign Origin", set("Origin", "https://evil.example"), nil, forbidden},
		{"Origin of another port", set("Origin", "http://127.0.0.1:1"), nil, forbidden},
		{"Origin with another scheme", set("Origin", "https://127.0.0.1:"+port), nil, forbidden},
		{"Origin of another loopback name", set("Origin", "http://localhost:"+port), nil, forbidden},
		{"Origin with a slash", set("Origin", a.own.base+"/"), nil, forbidden},
		{"opaque Origin", set("Origin", "null"), nil, forbidden},
		{"empty Origin", set("Origin", ""), nil, forbidden},
		{"two Origins", func(r *http.Request) { r.Header["Origin"] = []string{a.own.base, "https://evil.example"} }, nil, forbidden},
		{"another site", func(r *http.Request) { r.Header.Del("Origin"); r.Header.Set("Sec-Fetch-Site", "cross-site") }, nil, forbidden},
		{"another host of the site", func(r *http.Request) { r.Header.Del("Origin"); r.Header.Set("Sec-Fetch-Site", "same-site") }, nil, forbidden},
		{"neither Origin nor Sec-Fetch-Site", without("Origin", "Sec-Fetch-Site"), unsafe, forbidden},
		{"a forged token of an answer button", func(*http.Request) {}, forged, forbidden},
		{"a forged token from an app, which has neither Origin nor a device", without("Origin", "Sec-Fetch-Site", "Cookie", web.KeyHeader), forged, forbidden},
		{"DNS rebinding", rebound("evil.example:" + port), nil, forbidden},
		{"DNS rebinding to a name that begins like ours", rebound("127.0.0.1.evil.example:" + port), nil, forbidden},
		{"a user in the host", rebound("127.0.0.1:" + port + "@evil.example"), nil, []int{http.StatusForbidden, http.StatusBadRequest}},
		{"the host without a port", rebound("127.0.0.1"), nil, forbidden},
		{"the host with another port", rebound("127.0.0.1:1"), nil, forbidden},
		{"the name localhost, whose other address may belong to another user", rebound("localhost:" + port), nil, forbidden},
		{"the host with a dot at its end", rebound("localhost.:" + port), nil, forbidden},
		{"the host of the control socket", rebound("city"), nil, forbidden},
		{"an oversized body", func(*http.Request) {}, func(t target) bool { return t.maxBody > 0 && t.maxBody < 1<<20 }, []int{http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge}},
		{"a body of a form", set("Content-Type", "text/plain"), func(t target) bool { return t.maxBody > 0 }, []int{http.StatusUnprocessableEntity}},
		{"a body where none belongs", func(*http.Request) {}, func(t target) bool { return t.maxBody == 0 }, []int{http.StatusUnprocessableEntity}},
	}
	for i := range list {
		if list[i].when == nil {
			list[i].when = func(target) bool { return true }
		}
	}
	return list
}

// body returns the body of a request.
func (a attack) body(t target) string {
	if a.name == "an oversized body" {
		return `{"x":"` + strings.Repeat("x", int(t.maxBody)) + `"}`
	}
	if t.maxBody == 0 && a.name != "a body where none belongs" {
		return ""
	}
	if t.token != "" {
		return `{"token":"` + t.token + `"}`
	}
	return `{}`
}

// attacksOfDevice is how many attacks one device sends to all routes.
const attacksOfDevice = 4

// run sends every attack to every route. It returns the ones that were answered, or that changed
// something.
func (a *attacker) run() (found []string) {
	before := a.state()
	given := a.own
	for i, attack := range a.attacks() {
		if i%attacksOfDevice == 0 || slices.Contains(attack.wants, http.StatusUnprocessableEntity) { // the rates of a device must not refuse an attack
			next := a.signIn()
			if a.own != given {
				a.own.request(http.MethodPost, "/auth/sign-out", "{}")
			}
			a.own = next
			before = a.state()
		}
		for _, t := range a.targets {
			if !attack.when(t) {
				continue
			}
			res, err := a.send(attack, t)
			if err != nil {
				found = append(found, fmt.Sprintf("%s: %s %s: %v", attack.name, t.method, t.path, err))
				continue
			}
			var text []byte
			if res.StatusCode != http.StatusOK { // a stream has no end
				text, err = io.ReadAll(res.Body)
			}
			_ = res.Body.Close()
			if !slices.Contains(attack.wants, res.StatusCode) || err != nil || strings.Contains(string(text), "worker\"") {
				found = append(found, fmt.Sprintf("%s: %s %s answers %s: %.200s", attack.name, t.method, t.path, res.Status, text))
			}
		}
		if after := a.state(); after != before {
			found = append(found, fmt.Sprintf("%s: the state was\n%s\nand is\n%s", attack.name, before, after))
			before = after
		}
	}
	return found
}

func (a *attacker) send(attack attack, t target) (*http.Response, error) {
	body := attack.body(t)
	req, err := http.NewRequestWithContext(a.t.Context(), t.method, a.own.base+t.path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Origin", a.own.base)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	as(a.own)(req)
	attack.does(req)
	return a.http.Do(req)
}

// stateOf returns what an attack on a city could change.
func stateOf(t *testing.T, city *citytest.City) string {
	t.Helper()
	devices, err := city.Client.WebDevices(t.Context())
	for i := range devices {
		devices[i].LastSeen = devices[i].Created
	}
	page, eventsErr := city.Client.PastEvents(t.Context(), 0)
	queue, queueErr := city.Client.Queue(t.Context(), "", client.WithEnded)
	status, statusErr := city.Client.Status(t.Context())
	events := slices.DeleteFunc(page.Events, func(e client.Event) bool { return e.Kind == "notify.answer_refused" }) // it records an attack
	text, jsonErr := json.Marshal([]any{devices, len(events), queue, status.Agents[0].Instance, status.Agents[0].State, len(city.Agents.Calls("Deliver", "Respond"))})
	for _, err := range []error{err, eventsErr, queueErr, statusErr, jsonErr} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(text)
}

// quietCity returns a city in which nothing happens by itself, and a signed-in browser.
func quietCity(t *testing.T) (*citytest.City, *browser) {
	t.Helper()
	city := citytest.New(t, cityConfig)
	city.AwaitRunning("worker", "idle")
	return city, signIn(t, city, client.ScopeManage)
}

// TestNoAttackIsAnswered sends every attack to every route: none is answered and none changes
// anything. The same requests without the attack are answered.
func TestNoAttackIsAnswered(t *testing.T) {
	city, own := quietCity(t)
	a := newAttacker(t, city, own, "")
	if len(consoleTargets()) < 40 {
		t.Errorf("only %d routes are attacked", len(consoleTargets()))
	}
	for _, f := range a.run() {
		t.Error(f)
	}
	for _, row := range consoleTargets() {
		if row.changes || row.maxBody > 0 || strings.HasSuffix(row.path, "/stream") {
			continue
		}
		res, err := a.send(attack{does: func(*http.Request) {}}, row)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
			t.Errorf("%s %s of a signed-in device answers %s", row.method, row.path, res.Status)
		}
	}
}

// TestTheAttackTableFindsHoles puts a proxy in front that makes up for a check, as if the web console
// did not have it: the table reports it.
func TestTheAttackTableFindsHoles(t *testing.T) {
	city, own := quietCity(t)
	at, err := url.Parse(own.base)
	if err != nil {
		t.Fatal(err)
	}
	var current atomic.Pointer[browser] // the device that the attacker uses now
	for check, hole := range map[string]func(r *http.Request){
		"key":    func(r *http.Request) { r.Header.Set(web.KeyHeader, current.Load().key) },
		"cookie": func(r *http.Request) { r.Header.Set("Cookie", current.Load().cookie) },
		"device": func(r *http.Request) { as(current.Load())(r) },
		"host":   func(r *http.Request) { r.Host = at.Host; r.Header.Set("Origin", own.base) },
		"origin": func(r *http.Request) { r.Header.Set("Origin", own.base); r.Header.Set("Sec-Fetch-Site", "same-origin") },
	} {
		proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(at)
			p.Out.Host = p.In.Host
			if strings.HasPrefix(p.In.URL.Path, "/api/v1/status") || p.In.URL.Path == "/auth/me" { // a hole in some routes is enough
				hole(p.Out)
			}
		}}
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: proxy, ReadHeaderTimeout: deadline}
		go server.Serve(l) //nolint:errcheck // it is closed below
		a := newAttacker(t, city, own, l.Addr().String())
		signIn := a.signIn
		current.Store(own)
		a.signIn = func() *browser {
			b := signIn()
			current.Store(b)
			return b
		}
		found := a.run()
		_ = server.Close()
		if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, "/api/v1/status answers 200") }) {
			t.Errorf("a web console without the check of the %s passes: %v", check, found)
		}
	}
}
