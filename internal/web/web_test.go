package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/web"
	"gascity/test/citytest"
)

// deadline is far beyond what any test needs.
const deadline = 20 * time.Second

const cityConfig = `
[daemon]
shutdown_timeout = "50ms"
[[agents]]
name = "worker"
start_command = "fake_agent"
`

// browser is a device of a person: it sends what a browser sends for a page of the web console.
type browser struct {
	t      *testing.T
	base   string // "http://127.0.0.1:4242"
	http   *http.Client
	cookie string // name=value
	key    string
}

// request sends a request as the page does. A change makes it another request.
func (b *browser) request(method, path, body string, changes ...func(*http.Request)) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Origin", b.base)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if b.cookie != "" {
		req.Header.Set("Cookie", b.cookie)
	}
	if b.key != "" {
		req.Header.Set(web.KeyHeader, b.key)
	}
	for _, change := range changes {
		change(req)
	}
	res, err := b.http.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = res.Body.Close() })
	return answer{res}
}

// answer is a response. Its body is closed at the end of the test.
type answer struct{ *http.Response }

// text returns the body of an answer.
func (b *browser) text(res answer) string {
	b.t.Helper()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// newBrowser starts the web console and returns a browser that is not signed in.
func newBrowser(t *testing.T, city *citytest.City) *browser {
	t.Helper()
	on, err := city.Client.StartWeb(t.Context(), client.WebRequest{})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, base: strings.TrimSuffix(on.URL, "/"), http: &http.Client{Transport: transport, Timeout: deadline}}
}

// signIn signs a new browser in.
func signIn(t *testing.T, city *citytest.City, scope client.Scope) *browser {
	t.Helper()
	b := newBrowser(t, city)
	code, err := city.Client.NewWebCode(t.Context(), client.WebCodeRequest{Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	b.enter(code.Code)
	return b
}

// enter signs the browser in.
func (b *browser) enter(code string) {
	b.t.Helper()
	t := b.t
	res := b.request(http.MethodPost, "/auth/sign-in", `{"code":"`+code+`","device":"phone"}`)
	var out struct {
		Key    string
		Device client.WebDevice
	}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the sign-in answers %s: %v", res.Status, err)
	}
	for _, c := range res.Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" {
			t.Errorf("the cookie is %v", c)
		}
		b.cookie = c.Name + "=" + c.Value
	}
	b.key = out.Key
	if b.cookie == "" || len(b.key) < 26 {
		t.Fatalf("the sign-in gives the cookie %q and the key %q", b.cookie, b.key)
	}
}

// A device signs in with a code, reads the city, changes it, and is signed out.
func TestADeviceUsesTheCity(t *testing.T) {
	city := citytest.New(t, cityConfig)
	city.AwaitRunning("worker")
	b := signIn(t, city, "")
	res := b.request(http.MethodGet, "/api/v1/status", "")
	if text := b.text(res); res.StatusCode != http.StatusOK || !strings.Contains(text, `"worker"`) {
		t.Errorf("the status answers %s: %.300s", res.Status, text)
	}
	res = b.request(http.MethodPost, "/api/v1/sessions/worker/nudge", `{"text":"hello","wait":"submitted"}`, set("Tailscale-User-Login", "ada@example.com"))
	if text := b.text(res); res.StatusCode != http.StatusOK || !strings.Contains(text, client.ReceiptSubmitted) {
		t.Errorf("the prompt answers %s: %.300s", res.Status, text)
	}
	res = b.request(http.MethodGet, "/auth/me", "")
	if text := b.text(res); res.StatusCode != http.StatusOK || !strings.Contains(text, `"name":"phone","scopes":["see","answer","type","manage"]`) {
		t.Errorf("me answers %s: %s", res.Status, text)
	}
	page, err := city.Client.PastEvents(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]client.Event{}
	for _, e := range page.Events {
		seen[e.Kind] = e
	}
	if e := seen["web.request"]; e.Data["operation"] != "nudge" || e.Data["target"] != "worker" || e.Data["scope"] != "type" || e.Data["name"] != "phone" || e.Data["claimed"] != "ada@example.com" {
		t.Errorf("the event of the prompt is %+v", e)
	}
	if seen["web.signed_in"].ID == 0 || seen["web.code_made"].ID == 0 || seen["web.started"].ID == 0 {
		t.Errorf("events are missing: %v", seen)
	}
	if res := b.request(http.MethodPost, "/auth/sign-out", ""); res.StatusCode != http.StatusNoContent {
		t.Errorf("the sign-out answers %s", res.Status)
	}
	if res := b.request(http.MethodGet, "/api/v1/status", ""); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the sign-out the status answers %s", res.Status)
	}
}

// A page without data is served to everybody who names the right host.
func TestThePageIsServed(t *testing.T) {
	b := newBrowser(t, citytest.New(t, cityConfig))
	res := b.request(http.MethodGet, "/", "", func(r *http.Request) { r.Header = http.Header{"Sec-Fetch-Site": {"cross-site"}} })
	if text := b.text(res); res.StatusCode != http.StatusOK || !strings.Contains(text, "Gas City") || !strings.Contains(res.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the page answers %s: %s", res.Status, text)
	}
	for header, want := range map[string]string{"Content-Security-Policy": "default-src 'self'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
		if !strings.Contains(res.Header.Get(header), want) {
			t.Errorf("%s is %q, want %q", header, res.Header.Get(header), want)
		}
	}
	tag := res.Header.Get("Etag")
	if res := b.request(http.MethodGet, "/", "", func(r *http.Request) { r.Header.Set("If-None-Match", tag) }); res.StatusCode != http.StatusNotModified {
		t.Errorf("an unchanged page answers %s", res.Status)
	}
}

// The policy of every answer lets no script run that is not a file of the page, and lets no other page frame it.
func TestThePolicyOfThePage(t *testing.T) {
	b := newBench(t, web.Settings{}).browser(t)
	for _, path := range []string{"/", "/auth/me", "/api/v1/status", "/nothing"} {
		header := b.request(http.MethodGet, path, "").Header
		policy := map[string]string{}
		for part := range strings.SplitSeq(header.Get("Content-Security-Policy"), ";") {
			name, sources, _ := strings.Cut(strings.TrimSpace(part), " ")
			policy[name] = sources
		}
		scripts, found := policy["script-src"]
		if !found {
			scripts = policy["default-src"]
		}
		want := map[string]string{"object-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"}
		for name, sources := range want {
			if policy[name] != sources {
				t.Errorf("%s: %s is %q, want %q", path, name, policy[name], sources)
			}
		}
		if scripts != "'self'" || header.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: scripts may come from %q, X-Frame-Options is %q", path, scripts, header.Get("X-Frame-Options"))
		}
	}
}

// A revoked device loses its open stream at once.
func TestARevokedDeviceLosesItsStream(t *testing.T) {
	city := citytest.New(t, cityConfig)
	b := signIn(t, city, client.ScopeSee)
	res := b.request(http.MethodGet, "/api/v1/events/stream", "")
	first := make([]byte, 1)
	if _, err := io.ReadFull(res.Body, first); err != nil {
		t.Fatal(err)
	}
	devices, err := city.Client.WebDevices(t.Context())
	if err != nil || len(devices) != 1 || devices[0].Open != 1 || len(devices[0].Scopes) != 1 {
		t.Fatalf("the devices are %+v, %v", devices, err)
	}
	if _, err := city.Client.RevokeWebDevice(t.Context(), devices[0].ID); err != nil {
		t.Fatal(err)
	}
	rest := &bytes.Buffer{}
	if _, err := rest.ReadFrom(res.Body); err != nil && !strings.Contains(err.Error(), "EOF") {
		t.Errorf("the stream ends with %v", err)
	}
	if res := b.request(http.MethodGet, "/api/v1/status", ""); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the revoked device gets %s", res.Status)
	}
}

// The web console stays on at its address, and devices stay signed in, when the controller restarts.
func TestTheWebConsoleSurvivesTheController(t *testing.T) {
	city := citytest.New(t, cityConfig)
	b := signIn(t, city, "")
	city.Leave()
	b.http.CloseIdleConnections()
	city.Start()
	if res := b.request(http.MethodGet, "/api/v1/status", ""); res.StatusCode != http.StatusOK {
		t.Errorf("after the restart the status answers %s", res.Status)
	}
	if out, err := city.Client.StopWeb(t.Context()); err != nil || out.Running {
		t.Errorf("the stop gives %+v, %v", out, err)
	}
	city.Leave()
	city.Start()
	if out, err := city.Client.Web(context.WithoutCancel(t.Context())); err != nil || out.Running {
		t.Errorf("after a stop and a restart the web console is %+v, %v", out, err)
	}
}
