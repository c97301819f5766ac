package notify

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/config"
	"gascity/test/tier"
)

// mailServersVar has the addresses of the servers for the process that trusts the authority of the test.
const mailServersVar = "GC_TEST_NOTIFY_MAIL"

// secureMail is a mail server that records what it receives.
type secureMail struct {
	tls      *tls.Config
	only     bool   // the connection is encrypted from its start
	starttls bool   // it offers STARTTLS
	login    string // its answer to a login; empty: it accepts it

	mu    sync.Mutex
	lines []string // the commands with text that must be secret; "encrypted " before those on an encrypted connection
}

// listen starts the server and returns its address.
func (s *secureMail) listen(t *testing.T, host string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		group.Wait()
	})
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { s.serve(conn) })
		}
	})
	return listener.Addr().String()
}

func (s *secureMail) serve(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second)) // it fails on a closed connection
	encrypted := ""
	if s.only {
		conn, encrypted = tls.Server(conn, s.tls), "encrypted "
	}
	in := bufio.NewReader(conn)
	say := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") } // the client may be gone
	say("220 here")
	for data := false; ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		verb, _, _ := strings.Cut(line, " ")
		switch {
		case data:
			if data = line != "."; !data {
				say("250 accepted")
			}
		case verb == "EHLO" && s.starttls && encrypted == "":
			say("250-here\r\n250-STARTTLS\r\n250 AUTH PLAIN")
		case verb == "EHLO":
			say("250-here\r\n250 AUTH PLAIN")
		case verb == "STARTTLS":
			say("220 go")
			conn, encrypted = tls.Server(conn, s.tls), "encrypted "
			in = bufio.NewReader(conn)
		case verb == "AUTH" && s.login != "":
			s.record(encrypted + line)
			say(s.login)
		case verb == "AUTH":
			s.record(encrypted + line)
			say("235 welcome")
		case verb == "DATA":
			s.record(encrypted + line)
			data = true
			say("354 go")
		default:
			say("250 ok")
		}
	}
}

func (s *secureMail) record(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *secureMail) recorded() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// authority is a certificate authority that no machine trusts.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// issue returns a certificate of the authority; the first one is its own.
func (a *authority) issue(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// server returns the configuration of a server with a certificate for an address or a name.
func (a *authority) server(name string) *tls.Config {
	a.t.Helper()
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	cert, key := a.issue(template)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
}

// file writes the certificate of the authority.
func (a *authority) file() string {
	a.t.Helper()
	path := filepath.Join(a.t.TempDir(), "authority.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

const mailPassword = "correct horse battery"

// mailLogin is the login of PLAIN, as it is sent.
func mailLogin() string {
	return base64.StdEncoding.EncodeToString([]byte("\x00anna\x00" + mailPassword))
}

// mailAs sends a mail with a login.
func mailAs(t *testing.T, address string, how config.NotifyTLS) error {
	t.Helper()
	n := &config.Notify{
		Name: "x", Type: config.NotifyEmail, Server: address, From: "gc@example.org", To: []string{"anna@example.org"},
		TLS: how, User: "anna", Token: config.ParseSecret(mailPassword), Timeout: 10 * time.Second,
	}
	err := send(t.Context(), NewSink(n, environment("")), message("May I?"))
	if err != nil && (strings.Contains(err.Error(), mailPassword) || strings.Contains(err.Error(), mailLogin())) {
		t.Errorf("the error has the password: %v", err)
	}
	return err
}

// TestEmailIsEncrypted: with STARTTLS and with TLS the login and the mail are sent only to a server with a trusted certificate for
// its name. A process of its own trusts the authority of the test, because a process reads the authorities once.
func TestEmailIsEncrypted(t *testing.T) {
	tier.Process(t)
	if addresses := strings.Fields(os.Getenv(mailServersVar)); len(addresses) == 4 {
		mailToTrusted(t, addresses)
		return
	}
	ca := newAuthority(t)
	servers := []*secureMail{
		{tls: ca.server("127.0.0.1"), starttls: true},
		{tls: ca.server("127.0.0.1"), only: true},
		{tls: ca.server("mail.example.org"), starttls: true},
		{tls: ca.server("mail.example.org"), only: true},
	}
	var addresses []string
	for i, s := range servers {
		addresses = append(addresses, s.listen(t, "127.0.0.1"))
		err := mailAs(t, addresses[i], []config.NotifyTLS{config.NotifyStartTLS, config.NotifyOnlyTLS}[i%2])
		if err == nil || !strings.Contains(err.Error(), "is not trusted") || !strings.Contains(err.Error(), "SSL_CERT_FILE") || s.recorded() != "" {
			t.Errorf("server %d has an unknown authority: %v; it received %q", i, err, s.recorded())
		}
	}
	if goruntime.GOOS == "darwin" {
		return // it takes the authorities only from the keychain
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEmailIsEncrypted$")
	cmd.Env = append(os.Environ(), mailServersVar+"="+strings.Join(addresses, " "), "SSL_CERT_FILE="+ca.file(), "SSL_CERT_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("with the authority: %v\n%s", err, out)
	}
	want := "encrypted AUTH PLAIN " + mailLogin() + "\nencrypted DATA"
	for i, s := range servers {
		if i >= 2 {
			want = ""
		}
		if got := s.recorded(); got != want {
			t.Errorf("server %d received %q, want %q", i, got, want)
		}
	}
}

// mailToTrusted sends to two servers with a certificate for their address, and to two with one for another name.
func mailToTrusted(t *testing.T, addresses []string) {
	t.Helper()
	for i, how := range []config.NotifyTLS{config.NotifyStartTLS, config.NotifyOnlyTLS} {
		if err := mailAs(t, addresses[i], how); err != nil {
			t.Errorf("%s: %v", how, err)
		}
		if err := mailAs(t, addresses[i+2], how); err == nil || !strings.Contains(err.Error(), "is not trusted") {
			t.Errorf("%s, a certificate for another name: %v", how, err)
		}
	}
}

// TestNoLoginWithoutEncryption: the password is not sent to a server that offers no encryption, except one at localhost.
func TestNoLoginWithoutEncryption(t *testing.T) {
	tier.Process(t)
	for name, c := range map[string]struct {
		host string
		how  config.NotifyTLS
		why  string
	}{
		"no STARTTLS":             {"127.0.0.1", config.NotifyStartTLS, "does not offer STARTTLS"},
		"another address of this": {"127.0.0.2", config.NotifyNoTLS, "unencrypted"},
	} {
		s := &secureMail{}
		if goruntime.GOOS == "darwin" && c.host != "127.0.0.1" {
			continue // it has only one address
		}
		if err := mailAs(t, s.listen(t, c.host), c.how); err == nil || !strings.Contains(err.Error(), c.why) || s.recorded() != "" {
			t.Errorf("%s: %v; the server received %q", name, err, s.recorded())
		}
	}
	s := &secureMail{}
	if err := mailAs(t, s.listen(t, "127.0.0.1"), config.NotifyNoTLS); err != nil || !strings.HasPrefix(s.recorded(), "AUTH PLAIN "+mailLogin()) {
		t.Errorf("this machine: %v; the server received %q", err, s.recorded())
	}
}

// TestRefusedLogin: a wrong password is final, and an answer that repeats it is masked.
func TestRefusedLogin(t *testing.T) {
	tier.Process(t)
	for _, repeated := range []string{mailPassword, mailLogin()} {
		s := &secureMail{login: "535 not you: " + repeated}
		err := mailAs(t, s.listen(t, "127.0.0.1"), config.NotifyNoTLS)
		failed, known := errors.AsType[*SendError](err)
		if !known || !failed.Final || !strings.Contains(err.Error(), `535 "not you: `+config.Masked) {
			t.Errorf("a refused login: %v", err)
		}
	}
}

// TestWebServiceWithUnknownAuthority: a web service whose certificate is not trusted gets no request.
func TestWebServiceWithUnknownAuthority(t *testing.T) {
	tier.Process(t)
	var got bytes.Buffer
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(&got, r.Body) }))
	service.TLS = newAuthority(t).server("127.0.0.1")
	service.Config.ErrorLog = log.New(io.Discard, "", 0)
	service.StartTLS()
	t.Cleanup(service.Close)
	n := &config.Notify{Name: "x", Type: config.NotifyWebhook, URL: config.ParseSecret(service.URL + "/secret-hook"), Timeout: 5 * time.Second}
	err := send(t.Context(), NewSink(n, environment("")), message("?"))
	if err == nil || !strings.Contains(err.Error(), "is not trusted") || strings.Contains(err.Error(), "secret-hook") || got.Len() > 0 {
		t.Errorf("%v; the service received %q", err, got.String())
	}
}
