// Package pushtest has a push service for tests of Web Push. It reads messages as a browser does: it checks the signature of the
// sender (RFC 8292) and decrypts the message (RFC 8291), with code of its own.
package pushtest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// host is the name of the push service. It leads to no push service: [Service.Dial] connects to it.
const host = "https://example.com"

// Service is a push service with any number of browsers. It is safe for concurrent use.
type Service struct {
	tb     testing.TB
	server *httptest.Server

	mu       sync.Mutex
	browsers map[string]*Browser // by the path of the endpoint; guarded by mu
}

// Browser is a browser that has subscribed.
type Browser struct {
	Endpoint, P256DH, Auth string // as the browser gives them to its page

	key  *ecdh.PrivateKey
	auth []byte

	mu     sync.Mutex
	pushes []Push // guarded by mu
	// answer decides about a message; nil: it is confirmed; guarded by mu.
	answer func(ctx context.Context, p Push) Reply
}

// Push is a message that a browser got.
type Push struct {
	Topic, Urgency, TTL string
	Sender, Key         string // the contact and the public key of the sender
	Size                int    // of the encrypted message, in bytes
	Text                string // the message
}

// Reply is the answer of the service to one message. A status of 0 confirms it.
type Reply struct {
	Status     int
	RetryAfter string
}

// New starts a push service. The end of the test stops it.
func New(tb testing.TB) *Service {
	tb.Helper()
	s := &Service{tb: tb, browsers: map[string]*Browser{}}
	s.server = httptest.NewTLSServer(s)
	tb.Cleanup(s.server.Close)
	return s
}

// Dial connects to the service, whatever the address.
func (s *Service) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, s.Address())
}

// Address returns the address at which the service listens.
func (s *Service) Address() string { return s.server.Listener.Addr().String() }

// TLS returns a configuration with which the certificate of the service is trusted.
func (s *Service) TLS() *tls.Config {
	transport, ok := s.server.Client().Transport.(*http.Transport)
	if !ok {
		s.tb.Fatal("the client of the test server has another transport")
	}
	return transport.TLSClientConfig.Clone()
}

// Certificate returns the certificate of the service in the form of X.509.
func (s *Service) Certificate() []byte { return s.server.Certificate().Raw }

// Subscribe returns a new browser.
func (s *Service) Subscribe() *Browser {
	s.tb.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.tb.Fatal(err)
	}
	auth := make([]byte, 16)
	if _, err := rand.Read(auth); err != nil {
		s.tb.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	path := "/send/" + rand.Text()
	b := &Browser{Endpoint: host + path, P256DH: encode(key.PublicKey().Bytes()), Auth: encode(auth), key: key, auth: auth}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers[path] = b
	return b
}

// Answer sets the function that chooses the reply to each message from now on; nil accepts all. The function may block.
func (b *Browser) Answer(answer func(ctx context.Context, p Push) Reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

// Pushes returns all messages, also those that were not confirmed.
func (b *Browser) Pushes() []Push {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Push{}, b.pushes...)
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b := s.browsers[r.URL.Path]
	s.mu.Unlock()
	if b == nil {
		w.WriteHeader(http.StatusGone)
		return
	}
	p, err := b.read(r)
	if err != nil {
		s.tb.Errorf("a message that a browser cannot read: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.pushes = append(b.pushes, p)
	answer := b.answer
	b.mu.Unlock()
	reply := Reply{}
	if answer != nil {
		reply = answer(r.Context(), p)
	}
	if reply.RetryAfter != "" {
		w.Header().Set("Retry-After", reply.RetryAfter)
	}
	if reply.Status == 0 {
		reply.Status = http.StatusCreated
	}
	w.WriteHeader(reply.Status)
	if reply.Status >= http.StatusBadRequest { // a service may repeat the request in its answer
		fmt.Fprintf(w, "refused: %s%s %s", host, r.URL.Path, b.Auth)
	}
}

// read reads a request.
func (b *Browser) read(r *http.Request) (p Push, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return p, err
	}
	p = Push{Topic: r.Header.Get("Topic"), Urgency: r.Header.Get("Urgency"), TTL: r.Header.Get("TTL"), Size: len(body)}
	if r.Method != http.MethodPost || r.Header.Get("Content-Encoding") != "aes128gcm" || p.TTL == "" || len(body) > 4096 {
		return p, fmt.Errorf("%s with the encoding %q, TTL %q and %d bytes", r.Method, r.Header.Get("Content-Encoding"), p.TTL, len(body))
	}
	if p.Sender, p.Key, err = sender(r.Header.Get("Authorization")); err != nil {
		return p, err
	}
	text, err := b.Decrypt(body)
	p.Text = string(text)
	return p, err
}

// sender returns the contact and the public key of a sender, after a check of its signature.
func sender(authorization string) (contact, key string, err error) {
	var token string
	for part := range strings.SplitSeq(strings.TrimPrefix(authorization, "vapid "), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			token = value
		case "k":
			key = value
		}
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", "", fmt.Errorf("the authorization %q has no signature", authorization)
	}
	point, err := base64.RawURLEncoding.DecodeString(key)
	if err != nil {
		return "", "", err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return "", "", err
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return "", "", fmt.Errorf("the signature has %d bytes: %w", len(signature), err)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return "", "", errors.New("the signature is wrong")
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", "", err
	}
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		return "", "", err
	}
	if left := time.Until(time.Unix(claims.Exp, 0)); claims.Aud != host || left <= 0 || left > 24*time.Hour {
		return "", "", fmt.Errorf("the claims %s are not for this service, or not for now", text)
	}
	return claims.Sub, key, nil
}

// The parts of an encrypted message (RFC 8188): salt, record size, size of the key, key.
const (
	saltSize  = 16
	keyAt     = saltSize + 4 + 1
	keySize   = 65
	headerEnd = keyAt + keySize
)

// Decrypt returns the text of an encrypted message of one record.
func (b *Browser) Decrypt(body []byte) ([]byte, error) {
	if len(body) <= headerEnd || body[keyAt-1] != keySize {
		return nil, errors.New("it is not an encrypted message")
	}
	salt, point := body[:saltSize], body[keyAt:headerEnd]
	other, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return nil, err
	}
	shared, err := b.key.ECDH(other)
	if err != nil {
		return nil, err
	}
	info := "WebPush: info\x00" + string(b.key.PublicKey().Bytes()) + string(point)
	ikm, err := hkdf.Key(sha256.New, shared, b.auth, info, 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	text, err := gcm.Open(nil, nonce, body[headerEnd:], nil)
	if err != nil {
		return nil, err
	}
	text, found := bytes.CutSuffix(bytes.TrimRight(text, "\x00"), []byte{2})
	if !found {
		return nil, errors.New("the last record has no end")
	}
	return text, nil
}
