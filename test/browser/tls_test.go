package browser

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"gascity/runtime"
	"gascity/test/citytest"
)

// authority is a certificate authority of a test.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "gc test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// pin is the hash of the authority's key, as browsers name it.
func (a authority) pin() string {
	sum := sha256.Sum256(a.cert.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// issue writes a certificate for 127.0.0.1 with its chain, and its key.
func (a authority) issue(certFile, keyFile string) {
	a.t.Helper()
	key := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "gc test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	chain := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})...)
	if err := errors.Join(os.WriteFile(certFile, chain, 0o600), os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)); err != nil {
		a.t.Fatal(err)
	}
}

// cookies returns the cookies of the page.
func (p *page) cookies() []*network.Cookie {
	p.t.Helper()
	var found []*network.Cookie
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		res, err := cdp.Call(ctx, target, network.GetCookies, network.GetCookiesParams{})
		if err == nil {
			found = res.Cookies
		}
		return err
	}))
	return found
}

// With certificate files of its own the console works in a browser that trusts their authority: the link signs in, with a cookie only for
// TLS, and a terminal opens over wss and is typed into. A browser that does not trust the authority shows nothing.
func TestTheConsoleOverTLS(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	a.issue(certFile, keyFile)
	city := citytest.New(t, fmt.Sprintf("[web]\ncert_file = %q\nkey_file = %q\n", certFile, keyFile)+agent("writer", idle))
	session := city.AwaitRunning("writer", runtime.ActivityIdle).Session
	at := link(t, city)
	if !strings.HasPrefix(at, "https://127.0.0.1:") {
		t.Fatalf("the link is %s", at)
	}
	distrustful := openTab(t, city, desk)
	distrustful.expect("ERR_CERT_AUTHORITY_INVALID")
	ctx, cancel := context.WithTimeout(distrustful.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(at)); err == nil || !strings.Contains(err.Error(), "ERR_CERT_AUTHORITY_INVALID") {
		t.Errorf("without the authority the browser opens the page: %v", err)
	}

	p := openTab(t, city, desk, chromedp.Flag("ignore-certificate-errors-spki-list", a.pin()))
	p.visit(at)
	if where := get[string](p, `location.href + ' ' + isSecureContext`); !strings.HasPrefix(where, "https://") || strings.Contains(where, "code") || !strings.HasSuffix(where, " true") {
		t.Errorf("the page is at %s", where)
	}
	cookies := p.cookies()
	if len(cookies) != 1 || !strings.HasPrefix(cookies[0].Name, "__Host-") || !cookies[0].Secure || !cookies[0].HTTPOnly || cookies[0].SameSite != network.CookieSameSiteStrict {
		for _, c := range cookies {
			t.Errorf("the cookie is %+v", *c)
		}
		t.Errorf("%d cookies, want one that is only for TLS", len(cookies))
	}
	p.do(chromedp.Reload())
	p.until("a reload stays signed in", `!!document.querySelector('.connection.is-live')`)
	get[bool](p, `(() => {
		const Real = window.WebSocket;
		window.urls = [];
		window.WebSocket = class extends Real { constructor(...args) { super(...args); window.urls.push(args[0]); } };
		return true;
	})()`)
	p.open("#/agent/writer")
	p.until("the terminal is watched", stateIs("Watching"))
	if !city.Agents.Print(session, "printed over wss\n") {
		t.Fatal("the agent does not run")
	}
	p.until("the output is on the screen", shows("printed over wss"))
	p.tap(".terminal-bar button", "Take over")
	p.until("the page types", stateIs("You type"))
	p.press("typed over wss")
	p.until("what is typed is on the screen", shows("typed over wss"))
	if urls := get[[]string](p, `window.urls`); len(urls) == 0 || !strings.HasPrefix(urls[0], "wss://127.0.0.1:") {
		t.Errorf("the terminals are at %v", urls)
	}
}
