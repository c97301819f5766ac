package web_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"gascity/client"
	"gascity/internal/server/controlapi"
	"gascity/internal/store"
	"gascity/internal/web"
	"gascity/test/citytest"
)

// bench is a web console without a city: its routes answer with an empty status.
type bench struct {
	*web.Server
	file string
	log  *bytes.Buffer

	late   atomic.Int64 // by how much the clock is ahead
	grants chan web.Grant
	ended  chan error
	// release lets terminals return after their end. Nil: they return at once.
	release chan struct{}
}

// quietBuffer is a buffer for a log that several goroutines write.
type quietBuffer struct {
	mu sync.Mutex
	to *bytes.Buffer
}

func (b *quietBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.to.Write(p)
}

// newBench starts a web console with the settings.
func newBench(t *testing.T, settings web.Settings, changes ...func(*web.Options)) *bench {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "db")})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{file: filepath.Join(dir, "web.json"), log: &bytes.Buffer{}, grants: make(chan web.Grant, 10), ended: make(chan error, 10)}
	opts := web.Options{
		File: b.file, ID: "test", Version: "test", Events: db, Log: slog.New(slog.NewTextHandler(&quietBuffer{to: b.log}, nil)), Patience: time.Second,
		Now:   func() time.Time { return time.Now().Add(time.Duration(b.late.Load())) },
		Files: fstest.MapFS{"index.html": {Data: []byte("<!doctype html><title>Gas City</title>")}},
		Terminal: func(ctx context.Context, w http.ResponseWriter, _ *http.Request, g web.Grant) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			b.grants <- g
			<-ctx.Done()
			b.ended <- context.Cause(ctx)
			if b.release != nil {
				<-b.release
			}
		},
	}
	for _, change := range changes {
		change(&opts)
	}
	b.Server = web.New(opts)
	settings.Enabled = true
	b.Configure(settings)
	b.Begin(t.Context(), controlapi.NewServer(stub{}, controlapi.Options{}).Mount())
	t.Cleanup(func() {
		b.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// stub is a city with an empty status; another call panics.
type stub struct{ controlapi.City }

func (stub) Status(context.Context) (client.Status, error) {
	return client.Status{Agents: []client.Agent{}}, nil
}

// browser returns a browser of the web console that is not signed in.
func (b *bench) browser(t *testing.T) *browser {
	t.Helper()
	on, err := b.Web(t.Context())
	if err != nil || !on.Running {
		t.Fatalf("the web console is %+v, %v", on, err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, base: strings.TrimSuffix(on.URL, "/"), http: &http.Client{Transport: transport, Timeout: deadline}}
}

// code returns a new code.
func (b *bench) code(t *testing.T, scope client.Scope) string {
	t.Helper()
	made, err := b.NewWebCode(t.Context(), client.WebCodeRequest{Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	return made.Code
}

// signedIn returns a browser that is signed in.
func (b *bench) signedIn(t *testing.T, scope client.Scope) *browser {
	t.Helper()
	it := b.browser(t)
	it.enter(b.code(t, scope))
	return it
}

// ticket returns a new ticket, or the status of the refusal.
func (b *browser) ticket(body string) (string, int) {
	b.t.Helper()
	res := b.request(http.MethodPost, "/auth/tickets", body)
	_, rest, _ := strings.Cut(b.text(res), `"ticket":"`)
	secret, _, _ := strings.Cut(rest, `"`)
	return secret, res.StatusCode
}

// terminal asks for a terminal as a browser does.
func (b *browser) terminal(ticket string, changes ...func(*http.Request)) answer {
	b.t.Helper()
	return b.request(http.MethodGet, "/terminal", "", append([]func(*http.Request){func(r *http.Request) {
		r.Header.Del(web.KeyHeader) // a WebSocket cannot carry it
		r.Header.Set("Sec-WebSocket-Protocol", web.TerminalProtocol+", ticket."+ticket)
	}}, changes...)...)
}

// A code works once and for a minute, and a wrong one never does.
func TestACodeWorksOnce(t *testing.T) {
	b := newBench(t, web.Settings{})
	try := func(code string) int {
		return b.browser(t).request(http.MethodPost, "/auth/sign-in", `{"code":"`+code+`","device":"phone"}`).StatusCode
	}
	code := b.code(t, "")
	for _, wrong := range []string{"", "x", code[:25], code + "A", strings.ToLower(code), strings.Repeat("A", 1000)} {
		if got := try(wrong); got != http.StatusUnauthorized {
			t.Errorf("the wrong code %.40q answers %d", wrong, got)
		}
	}
	if got := try(code); got != http.StatusOK {
		t.Errorf("the code answers %d", got)
	}
	if got := try(code); got != http.StatusUnauthorized {
		t.Errorf("the code again answers %d", got)
	}
	late := b.code(t, "")
	b.late.Store(int64(time.Minute))
	if got := try(late); got != http.StatusUnauthorized {
		t.Errorf("an expired code answers %d", got)
	}
	if devices, err := b.WebDevices(t.Context()); err != nil || len(devices) != 1 {
		t.Errorf("the devices are %+v, %v", devices, err)
	}
}

// A code is used by one of many browsers that send it at the same moment.
func TestOneBrowserUsesACode(t *testing.T) {
	b := newBench(t, web.Settings{})
	code := b.code(t, "")
	var won atomic.Int32
	var group sync.WaitGroup
	at := b.browser(t)
	for range 20 {
		group.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.base+"/auth/sign-in", strings.NewReader(`{"code":"`+code+`","device":"phone"}`))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Origin", at.base)
			req.Header.Set("Content-Type", "application/json")
			res, err := at.http.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				won.Add(1)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Errorf("%d browsers signed in with one code", won.Load())
	}
}

// Wrong codes are limited; the right one is accepted also then.
func TestWrongCodesDoNotLockOut(t *testing.T) {
	b := newBench(t, web.Settings{})
	at := b.browser(t)
	limited := 0
	for range 100 {
		if at.request(http.MethodPost, "/auth/sign-in", `{"code":"wrong","device":"phone"}`).StatusCode == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 50 {
		t.Errorf("%d of 100 wrong codes were limited", limited)
	}
	at.enter(b.code(t, ""))
}

// A ticket opens one terminal of one session, once, for the device that asked for it.
func TestATicketOpensOneTerminal(t *testing.T) {
	b := newBench(t, web.Settings{})
	own, other := b.signedIn(t, client.ScopeType), b.signedIn(t, client.ScopeSee)
	if _, status := other.ticket(`{"session":"worker","type":true}`); status != http.StatusForbidden {
		t.Errorf("a device that may only watch asks for typing and gets %d", status)
	}
	if _, status := own.ticket(`{"session":""}`); status != http.StatusUnprocessableEntity {
		t.Errorf("a ticket for no session answers %d", status)
	}
	refused := func(name string, want int, ticket string, from *browser, changes ...func(*http.Request)) {
		t.Helper()
		if res := from.terminal(ticket, changes...); res.StatusCode != want {
			t.Errorf("%s answers %s, want %d", name, res.Status, want)
		}
	}
	fresh := func() string {
		secret, status := own.ticket(`{"session":"worker","type":true}`)
		if status != http.StatusOK {
			t.Fatalf("the ticket answers %d", status)
		}
		return secret
	}
	ticket := fresh()
	refused("no Origin", http.StatusForbidden, ticket, own, func(r *http.Request) { r.Header.Del("Origin") })
	refused("a foreign Origin", http.StatusForbidden, ticket, own, set("Origin", "https://evil.example"))
	refused("no protocol", http.StatusUnprocessableEntity, ticket, own, set("Sec-WebSocket-Protocol", "ticket."+ticket))
	refused("no ticket", http.StatusUnprocessableEntity, ticket, own, set("Sec-WebSocket-Protocol", web.TerminalProtocol))
	refused("the ticket in the address", http.StatusUnprocessableEntity, ticket, own, func(r *http.Request) {
		r.Header.Set("Sec-WebSocket-Protocol", web.TerminalProtocol)
		r.URL.RawQuery = "ticket=" + ticket
	})
	if len(b.grants) > 0 {
		t.Fatalf("a terminal was opened: %+v", <-b.grants)
	}
	res := own.terminal(ticket)
	if g := <-b.grants; res.StatusCode != http.StatusOK || g.Session != "worker" || !g.Type || g.Device.Name != "phone" {
		t.Errorf("the ticket answers %s with %+v", res.Status, g)
	}
	refused("a used ticket", http.StatusUnauthorized, ticket, own)
	refused("the cookie of another device", http.StatusUnauthorized, fresh(), other)
	refused("no cookie", http.StatusUnauthorized, fresh(), own, func(r *http.Request) { r.Header.Del("Cookie") })
	late := fresh()
	b.late.Store(int64(time.Minute))
	refused("an expired ticket", http.StatusUnauthorized, late, own)
	kept := fresh()
	devices, err := b.WebDevices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.RevokeWebDevice(t.Context(), devices[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := <-b.ended; !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("the open terminal of a revoked device ended with %v", err)
	}
	refused("a ticket of a revoked device", http.StatusUnauthorized, kept, own)
}

// A terminal ends when the web console stops, which waits for it.
func TestAStopEndsTerminals(t *testing.T) {
	b := newBench(t, web.Settings{})
	b.release = make(chan struct{})
	own := b.signedIn(t, "")
	ticket, _ := own.ticket(`{"session":"worker"}`)
	own.terminal(ticket)
	<-b.grants
	stopped := make(chan error, 1)
	go func() {
		_, err := b.StopWeb(t.Context())
		stopped <- err
	}()
	if reason := <-b.ended; reason == nil {
		t.Error("the terminal ended without a reason")
	}
	select {
	case err := <-stopped:
		t.Fatalf("the web console has stopped before its terminal, %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(b.release)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if _, err := b.NewWebCode(t.Context(), client.WebCodeRequest{}); !errors.Is(err, client.ErrRefused) {
		t.Errorf("a code of a web console that is off: %v", err)
	}
}

// A body that does not arrive is refused: at once from a program that is not signed in, else after
// the patience.
func TestSlowBodies(t *testing.T) {
	b := newBench(t, web.Settings{})
	own := b.signedIn(t, "")
	for name, headers := range map[string]string{
		"nobody":   "",
		"a device": "Cookie: " + own.cookie + "\r\n" + web.KeyHeader + ": " + own.key + "\r\n",
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(own.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /auth/tickets HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n%s\r\n{", strings.TrimPrefix(own.base, "http://"), own.base, headers)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s with a slow body gets %v", name, err)
		}
		if _, err := io.Copy(io.Discard, conn); err != nil || res.StatusCode/100 != 4 || !res.Close {
			t.Errorf("%s with a slow body gets %s, close %v, %v", name, res.Status, res.Close, err)
		}
		_ = res.Body.Close()
	}
}

// 1,000 open sockets keep no device out, and most of them are closed.
func TestManySocketsKeepNoDeviceOut(t *testing.T) {
	raiseLimit(t)
	b := newBench(t, web.Settings{})
	own := b.signedIn(t, "")
	sockets := make([]net.Conn, 0, 1000)
	defer func() {
		for _, c := range sockets {
			_ = c.Close()
		}
	}()
	for range cap(sockets) {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(own.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		sockets = append(sockets, c)
	}
	for range 3 {
		if res := own.request(http.MethodGet, "/api/v1/status", ""); res.StatusCode != http.StatusOK {
			t.Errorf("a device gets %s", res.Status)
		}
		own.http.CloseIdleConnections() // the next request has a new connection
	}
	soon := time.Now().Add(5 * time.Second)        // before a socket without a request is closed anyway
	for _, c := range sockets[:cap(sockets)-256] { // the oldest ones are closed
		if err := c.SetReadDeadline(soon); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) || err == nil {
			t.Fatalf("an old socket is still open: %v", err)
		}
	}
}

// raiseLimit raises the number of files that this process may open, for both ends of the sockets.
func raiseLimit(t *testing.T) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
}

// A device has at most 64 open requests, and sends no more than the rate.
func TestADeviceIsLimited(t *testing.T) {
	b := newBench(t, web.Settings{})
	own := b.signedIn(t, client.ScopeType)
	limited := false
	for range 200 {
		limited = limited || own.request(http.MethodDelete, "/api/v1/receipts/x/y", "").StatusCode == http.StatusTooManyRequests
	}
	if limited {
		t.Error("requests for a path that does not exist are counted")
	}
	for range 200 {
		res := own.request(http.MethodPost, "/api/v1/sessions/worker/keys", `{"keys":[]}`)
		if res.StatusCode == http.StatusTooManyRequests {
			limited = true
			break
		}
	}
	if !limited {
		t.Error("200 changes of a device were not limited")
	}
}

// The state file and the log have no secret.
func TestNoSecretIsStored(t *testing.T) {
	b := newBench(t, web.Settings{})
	code := b.code(t, "")
	own := b.browser(t)
	own.request(http.MethodPost, "/auth/sign-in?code="+code, `{"code":"`+code+`x","device":"phone"}`)
	own.enter(code)
	ticket, _ := own.ticket(`{"session":"worker"}`)
	own.terminal(ticket+"x", set("Referer", own.base+"/#code="+code))
	own.request(http.MethodGet, "/api/v1/status?key="+own.key, "", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") })
	info, err := os.Stat(b.file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state file has the mode %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(b.file)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if b.log.Len() == 0 {
		t.Error("nothing was logged")
	}
	_, cookie, _ := strings.Cut(own.cookie, "=")
	for what, secret := range map[string]string{"code": code, "ticket": ticket, "key": own.key, "cookie": cookie} {
		if strings.Contains(string(text), secret) || strings.Contains(b.log.String(), secret) {
			t.Errorf("the %s is in the state file or in the log", what)
		}
	}
}

// Files have the right type, encoding and cache, and only files of the page are served.
func TestFilesOfThePage(t *testing.T) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, _ = zip.Write([]byte("script"))
	_ = zip.Close()
	pages := fstest.MapFS{
		"index.html": {Data: []byte("page")}, "assets/app-1234.js": {Data: []byte("script")}, "assets/app-1234.js.gz": {Data: packed.Bytes()}, "secret.toml": {Data: []byte("x")}, ".hidden.html": {Data: []byte("x")},
	}
	b := newBench(t, web.Settings{}, func(o *web.Options) { o.Files = pages })
	own := b.browser(t)
	own.http.Transport.(*http.Transport).DisableCompression = true //nolint:forcetypeassert // browser made it
	for path, want := range map[string]struct{ kind, cache, encoding string }{
		"/":                   {"text/html; charset=utf-8", "no-cache", ""},
		"/index.html":         {"text/html; charset=utf-8", "no-cache", ""},
		"/assets/app-1234.js": {"text/javascript; charset=utf-8", "public, max-age=31536000, immutable", "gzip"},
	} {
		res := own.request(http.MethodGet, path, "", set("Accept-Encoding", "br;q=0, gzip"))
		if h := res.Header; res.StatusCode != http.StatusOK || h.Get("Content-Type") != want.kind || h.Get("Cache-Control") != want.cache || h.Get("Content-Encoding") != want.encoding || h.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s answers %s with %v", path, res.Status, h)
		}
		if res := own.request(http.MethodHead, path, ""); res.StatusCode != http.StatusOK {
			t.Errorf("HEAD %s answers %s", path, res.Status)
		}
		if res := own.request(http.MethodPost, path, "{}"); res.StatusCode != http.StatusNotFound {
			t.Errorf("POST %s answers %s", path, res.Status)
		}
	}
	plain := own.request(http.MethodGet, "/assets/app-1234.js", "", set("Accept-Encoding", "gzip;q=0"))
	if plain.Header.Get("Content-Encoding") != "" || own.text(plain) != "script" {
		t.Errorf("without gzip it is %v", plain.Header)
	}
	for _, path := range []string{"/assets", "/assets/", "/secret.toml", "/assets/../secret.toml", "/assets/app-1234.js.gz", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/nothing.html", "/.gc/web.json", "/api", "/auth", "/terminal/x"} {
		if res := own.request(http.MethodGet, path, ""); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s answers %s", path, res.Status)
		}
	}
}

// A configured host is answered with its own origin; the cookie of an https page is secure.
func TestConfiguredHosts(t *testing.T) {
	b := newBench(t, web.Settings{Hosts: []string{"box.example.ts.net", "http://lan:8080"}})
	own := b.browser(t)
	at := func(host, origin string) func(*http.Request) {
		return func(r *http.Request) { r.Host, r.Header["Origin"] = host, []string{origin} }
	}
	for _, row := range []struct {
		host, origin string
		want         int
	}{
		{"box.example.ts.net", "https://box.example.ts.net", http.StatusOK},
		{"BOX.example.ts.net", "https://box.example.ts.net", http.StatusOK},
		{"lan:8080", "http://lan:8080", http.StatusOK},
		{"box.example.ts.net", "http://box.example.ts.net", http.StatusForbidden},
		{"box.example.ts.net", "http://lan:8080", http.StatusForbidden},
		{"box.example.ts.net:443", "https://box.example.ts.net:443", http.StatusForbidden},
		{"lan", "http://lan", http.StatusForbidden},
	} {
		res := own.request(http.MethodPost, "/auth/sign-in", `{"code":"`+b.code(t, "")+`","device":"phone"}`, at(row.host, row.origin))
		if res.StatusCode != row.want {
			t.Errorf("%s from %s answers %s", row.host, row.origin, res.Status)
		}
		for _, c := range res.Cookies() {
			if secure := strings.HasPrefix(row.origin, "https"); c.Secure != secure || strings.HasPrefix(c.Name, "__Host-") != secure {
				t.Errorf("the cookie of %s is %v", row.origin, c)
			}
		}
	}
	if link, err := b.NewWebCode(t.Context(), client.WebCodeRequest{Host: "box.example.ts.net"}); err != nil || !strings.HasPrefix(link.Link, "https://box.example.ts.net/#code=") {
		t.Errorf("the link is %+v, %v", link, err)
	}
}

// The listener serves TLS with the certificate of the files, and reads it again when it changes.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, "first")
	b := newBench(t, web.Settings{Listen: "127.0.0.1:0", CertFile: cert, KeyFile: key})
	own := b.browser(t)
	if !strings.HasPrefix(own.base, "https://") {
		t.Fatalf("the address is %s", own.base)
	}
	var name string
	trust := func() {
		own.http.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, //nolint:gosec // the test looks at the certificate itself
			VerifyConnection:   func(s tls.ConnectionState) error { name = s.PeerCertificates[0].Subject.CommonName; return nil },
		}}
	}
	trust()
	own.enter(b.code(t, ""))
	if res := own.request(http.MethodGet, "/api/v1/status", ""); res.StatusCode != http.StatusOK || name != "first" || res.ProtoMajor != 2 {
		t.Errorf("the status answers %s over %s with the certificate %s", res.Status, res.Proto, name)
	}
	writeCertificate(t, cert, key, "second")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(cert, later, later); err != nil {
		t.Fatal(err)
	}
	own.http.CloseIdleConnections()
	trust()
	if res := own.request(http.MethodGet, "/api/v1/status", ""); res.StatusCode != http.StatusOK || name != "second" {
		t.Errorf("after a renewal the status answers %s with the certificate %s", res.Status, name)
	}
	own.http.CloseIdleConnections()
}

func writeCertificate(t *testing.T, certFile, keyFile, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	template.Subject.CommonName = name
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// An address that other hosts can reach needs a certificate.
func TestAnOpenAddressNeedsACertificate(t *testing.T) {
	b := newBench(t, web.Settings{})
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "evil.example:80", "127.0.0.1"} {
		if _, err := b.StartWeb(t.Context(), client.WebRequest{Listen: listen}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s: %v", listen, err)
		}
	}
	if on, err := b.Web(t.Context()); err != nil || !on.Running {
		t.Errorf("after refused addresses the web console is %+v, %v", on, err)
	}
}

// The name localhost is refused, with the address to use, unless the configuration has it: another
// user can listen on its other address.
func TestLocalhostIsAnsweredOnlyIfConfigured(t *testing.T) {
	b := newBench(t, web.Settings{})
	own := b.browser(t)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(own.base, "http://"))
	for _, path := range []string{"/", "/auth/me"} {
		res := own.request(http.MethodGet, path, "", rebound("localhost:"+port))
		if text := own.text(res); res.StatusCode != http.StatusForbidden || !strings.Contains(text, "use http://127.0.0.1:"+port) {
			t.Errorf("%s of localhost answers %s: %s", path, res.Status, text)
		}
	}
	if _, err := b.NewWebCode(t.Context(), client.WebCodeRequest{Host: "localhost:" + port}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a link for localhost: %v", err)
	}
	if on, err := b.Web(t.Context()); err != nil || len(on.URLs) != 1 {
		t.Errorf("the web console is %+v, %v", on, err)
	}
	named := newBench(t, web.Settings{Listen: "127.0.0.1:0", Hosts: []string{"localhost:4242"}}).browser(t)
	if res := named.request(http.MethodGet, "/", "", rebound("localhost:4242")); res.StatusCode != http.StatusOK {
		t.Errorf("a configured localhost answers %s", res.Status)
	}
}

// A device that is not used for 30 days is signed out.
func TestAnUnusedDeviceIsSignedOut(t *testing.T) {
	b := newBench(t, web.Settings{})
	own := b.signedIn(t, "")
	b.late.Store(int64(29 * 24 * time.Hour))
	if res := own.request(http.MethodGet, "/auth/me", ""); res.StatusCode != http.StatusOK {
		t.Errorf("after 29 days the device gets %s", res.Status)
	}
	b.late.Store(int64(60 * 24 * time.Hour))
	if res := own.request(http.MethodGet, "/auth/me", ""); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after 31 more days the device gets %s", res.Status)
	}
}

// A device with only an open stream is used: it stays signed in after the stream, also after a
// restart.
func TestADeviceThatStreamsIsUsed(t *testing.T) {
	b := newBench(t, web.Settings{})
	own := b.signedIn(t, "")
	ticket, _ := own.ticket(`{"session":"worker"}`)
	if res := own.terminal(ticket); res.StatusCode != http.StatusOK {
		t.Fatalf("the terminal answers %s", res.Status)
	}
	b.late.Store(int64(40 * 24 * time.Hour))
	if _, err := b.StopWeb(t.Context()); err != nil { // ends the stream
		t.Fatal(err)
	}
	if reason := <-b.ended; reason == nil {
		t.Error("the terminal ended without a reason")
	}
	b.late.Store(int64(69 * 24 * time.Hour))
	if devices, err := b.WebDevices(t.Context()); err != nil || len(devices) != 1 {
		t.Errorf("after a stream of 40 days the devices are %+v, %v", devices, err)
	}
	next := newBench(t, web.Settings{}, func(o *web.Options) {
		o.File, o.Now = b.file, func() time.Time { return time.Now().Add(69 * 24 * time.Hour) }
	})
	if devices, err := next.WebDevices(t.Context()); err != nil || len(devices) != 1 {
		t.Errorf("after a restart the devices are %+v, %v", devices, err)
	}
}

// Another program that takes the port while the web console is off gets the cookies of browsers, and
// can show a page that reads their keys: the devices are signed out, and the listener moves.
func TestATakenPortSignsDevicesOut(t *testing.T) {
	b := newBench(t, web.Settings{})
	own := b.signedIn(t, "")
	b.Close()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", strings.TrimPrefix(own.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	next := newBench(t, web.Settings{}, func(o *web.Options) { o.File = b.file })
	moved := next.browser(t)
	if moved.base == own.base {
		t.Fatal("the port was not taken")
	}
	moved.cookie, moved.key = own.cookie, own.key
	if res := moved.request(http.MethodGet, "/auth/me", ""); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a device of the taken port gets %s", res.Status)
	}
}

// A browser that signs in again is one device.
func TestABrowserIsOneDevice(t *testing.T) {
	b := newBench(t, web.Settings{})
	own := b.signedIn(t, client.ScopeSee)
	own.enter(b.code(t, client.ScopeType))
	if devices, err := b.WebDevices(t.Context()); err != nil || len(devices) != 1 || len(devices[0].Scopes) != 3 {
		t.Errorf("the devices are %+v, %v", devices, err)
	}
}

// The log of a refused request has only the beginning of a long path and of a long method.
func TestTheLogOfALongPathIsShort(t *testing.T) {
	b := newBench(t, web.Settings{})
	own := b.browser(t)
	long := strings.Repeat("a", 8000)
	for method, want := range map[string]int{http.MethodGet: http.StatusUnauthorized, strings.Repeat("M", 5000): http.StatusNotFound} {
		if res := own.request(method, "/api/v1/sessions/"+long, ""); res.StatusCode != want {
			t.Errorf("it answers %s, want %d", res.Status, want)
		}
	}
	b.Close() // the log is complete
	text := b.log.String()
	if n := strings.Count(text, "was refused"); n != 2 || !strings.Contains(text, "/api/v1/sessions/aaaa") {
		t.Errorf("the log has %d refused requests:\n%.2000s", n, text)
	}
	if len(text) > 4000 {
		t.Errorf("the log has %d bytes", len(text))
	}
}

// A request that is for no path is checked like all others.
func TestAnOptionsRequestForNoPath(t *testing.T) {
	b := newBench(t, web.Settings{})
	own := b.browser(t)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(own.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("it answers %s", res.Status)
	}
}

// Large bodies in progress are limited.
func TestLargeBodiesAreLimited(t *testing.T) {
	b := newBench(t, web.Settings{})
	own := b.signedIn(t, "")
	address := strings.TrimPrefix(own.base, "http://")
	begin := func() net.Conn { // a request whose body does not end
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		fmt.Fprintf(conn, "POST /api/v1/plan HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nContent-Type: application/json\r\nContent-Length: 8000000\r\nCookie: %s\r\n%s: %s\r\n\r\n{", address, own.base, own.cookie, web.KeyHeader, own.key)
		return conn
	}
	answers := make(chan string, 9)
	for range 9 {
		conn := begin()
		go func() { // ends when the connection is closed
			text, _ := io.ReadAll(conn)
			answers <- string(text)
		}()
	}
	select {
	case text := <-answers:
		if !strings.HasPrefix(text, "HTTP/1.1 429") || !strings.Contains(text, "8 large requests") {
			t.Errorf("one of 9 large bodies is answered with %q", text)
		}
	case <-time.After(deadline):
		t.Fatal("none of 9 large bodies is refused")
	}
	if res := own.request(http.MethodGet, "/api/v1/status", ""); res.StatusCode != http.StatusOK {
		t.Errorf("meanwhile the status answers %s", res.Status)
	}
	if res := own.request(http.MethodPost, "/api/v1/plan", `{"config":""}`); res.StatusCode == http.StatusTooManyRequests {
		t.Errorf("meanwhile a small body is refused: %s", own.text(res))
	}
}

// A city without the web console has no goroutine for it.
func TestACityWithoutItHasNoGoroutine(t *testing.T) {
	city := citytest.New(t, cityConfig)
	city.AwaitRunning("worker")
	count := func() int {
		text := make([]byte, 4<<20)
		return strings.Count(string(text[:goruntime.Stack(text, true)]), "gascity/internal/web.(")
	}
	if n := count(); n != 0 {
		t.Errorf("%d goroutines are in the web console", n)
	}
	if _, err := city.Client.StartWeb(t.Context(), client.WebRequest{}); err != nil {
		t.Fatal(err)
	}
	if count() == 0 {
		t.Error("the count does not find the goroutine of a web console that is on")
	}
	if _, err := city.Client.StopWeb(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 0 {
		t.Errorf("after a stop %d goroutines are in the web console", n)
	}
}
