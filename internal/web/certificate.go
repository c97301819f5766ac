package web

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"

	"gascity/client"
)

// certificate is a certificate with its key, from two files. It is read again when a file changes,
// because certificates are renewed. It is safe for concurrent use.
type certificate struct {
	certFile, keyFile string

	mu    sync.Mutex
	pair  *tls.Certificate // guarded by mu
	since [2]time.Time     // when the files were changed last; guarded by mu
}

// openCertificate reads a certificate. It returns nil if both paths are empty.
func openCertificate(certFile, keyFile string) (*certificate, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil //nolint:nilnil // no certificate
	}
	c := &certificate{certFile: certFile, keyFile: keyFile}
	if _, err := c.get(nil); err != nil {
		return nil, fmt.Errorf("%w: cannot use the certificate of [web] in city.toml: %w", client.ErrInvalid, err)
	}
	return c, nil
}

// get returns the certificate, see [tls.Config]. While the files are being replaced it returns the
// last certificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var since [2]time.Time
	for i, path := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(path); err == nil {
			since[i] = info.ModTime()
		}
	}
	if c.pair != nil && since == c.since {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil && c.pair == nil {
		return nil, err
	}
	if err == nil {
		c.pair, c.since = &pair, since
	}
	return c.pair, nil
}
