package bed

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// VendorHost is a proxy on the loopback interface that stands in for a model provider's hosts:
// it accepts CONNECT to any host, ends TLS itself with a certificate of its own authority, and
// answers every request there by one handler. An agent CLI that trusts [VendorHost.CAFile] and
// uses the proxy shows the set-up that it shows only with a network.
type VendorHost struct {
	URL    string // of the proxy
	CAFile string

	ca      *x509.Certificate
	caKey   *ecdsa.PrivateKey
	handler http.Handler
	server  *http.Server
	served  chan struct{}

	mu    sync.Mutex
	conns map[net.Conn]struct{} // guarded by mu; hijacked ones
	wait  sync.WaitGroup
}

// OpenVendorHost starts the proxy and writes the authority's certificate to caFile.
func OpenVendorHost(caFile string, handler http.Handler) (*VendorHost, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate("gc test authority")
	template.IsCA, template.KeyUsage, template.BasicConstraintsValid = true, x509.KeyUsageCertSign, true
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	ca, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &VendorHost{
		URL: "http://" + listener.Addr().String(), CAFile: caFile, ca: ca, caKey: key, handler: handler,
		served: make(chan struct{}), conns: map[net.Conn]struct{}{},
	}
	h.server = &http.Server{Handler: http.HandlerFunc(h.connect), ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(h.served)
		_ = h.server.Serve(listener) // it ends with Close and has nothing else to report
	}()
	return h, nil
}

func certificate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // the reader never fails
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

// connect answers CONNECT by being the host that is asked for.
func (h *VendorHost) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT is served", http.StatusMethodNotAllowed)
		return
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pair, err := h.certificateOf(host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	h.mu.Lock()
	h.conns[conn] = struct{}{}
	h.wait.Add(1)
	h.mu.Unlock()
	defer func() {
		_ = conn.Close()
		h.mu.Lock()
		delete(h.conns, conn)
		h.mu.Unlock()
		h.wait.Done()
	}()
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return
	}
	secured := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	serveOne(secured, h.handler)
}

// serveOne serves one connection until it ends.
func serveOne(conn net.Conn, handler http.Handler) {
	one := &oneConn{conn: conn, closed: make(chan struct{})}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			one.once.Do(func() { close(one.closed) })
		}
	}}
	_ = server.Serve(one) // the listener ends when the connection does
}

// oneConn is a listener of one connection.
type oneConn struct {
	conn   net.Conn
	given  bool
	closed chan struct{}
	once   sync.Once
}

func (o *oneConn) Accept() (net.Conn, error) {
	if !o.given {
		o.given = true
		return o.conn, nil
	}
	<-o.closed
	return nil, net.ErrClosed
}

func (o *oneConn) Close() error   { return nil }
func (o *oneConn) Addr() net.Addr { return o.conn.LocalAddr() }

func (h *VendorHost) certificateOf(host string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := certificate(host)
	template.DNSNames, template.KeyUsage = []string{host}, x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	raw, err := x509.CreateCertificate(rand.Reader, template, h.ca, &key.PublicKey, h.caKey)
	return tls.Certificate{Certificate: [][]byte{raw, h.ca.Raw}, PrivateKey: key}, err
}

// Close stops the proxy and all connections.
func (h *VendorHost) Close() error {
	err := h.server.Close()
	<-h.served
	h.mu.Lock()
	for conn := range h.conns {
		err = errors.Join(err, conn.Close())
	}
	h.mu.Unlock()
	h.wait.Wait()
	return err
}

// vendorAnswers answers as the host of the agent CLI's maker, and leaves the rest to the
// mock model.
func vendorAnswers(model http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/hello") { // the API, and the login
			w.WriteHeader(http.StatusOK)
			return
		}
		model.ServeHTTP(w, r)
	})
}
