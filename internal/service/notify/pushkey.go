package notify

import (
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"gascity/internal/fsutil"
)

// PushKey is the pair of keys with which a city identifies itself at push services (VAPID, RFC 8292). Its file has the private
// key, with mode 0600, and is made when a key is first needed. Safe for concurrent use.
type PushKey struct {
	path string

	mu  sync.Mutex
	key *ecdh.PrivateKey // nil: not read yet; guarded by mu
}

// NewPushKey returns the pair of keys in a file. It reads and writes nothing.
func NewPushKey(path string) *PushKey { return &PushKey{path: path} }

// Public returns the public key: an uncompressed point of P-256 in base64url.
func (k *PushKey) Public() (string, error) {
	_, public, err := k.pair()
	return public, err
}

// pair returns both keys in base64url.
func (k *PushKey) pair() (private, public string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key == nil {
		if k.key, err = k.read(); errors.Is(err, fs.ErrNotExist) {
			k.key, err = k.create()
		}
		if err != nil {
			k.key = nil
			return "", "", err
		}
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode(k.key.Bytes()), encode(k.key.PublicKey().Bytes()), nil
}

// read reads the file.
func (k *PushKey) read() (*ecdh.PrivateKey, error) {
	text, err := os.ReadFile(k.path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the key for push services: %w", err)
	}
	secret, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err == nil {
		var key *ecdh.PrivateKey
		if key, err = ecdh.P256().NewPrivateKey(secret); err == nil {
			return key, nil
		}
	}
	return nil, fmt.Errorf("%s is damaged; remove it, and turn notifications on again on each device", k.path) // without the cause, which may quote it
}

// create makes a new pair of keys and writes the file.
func (k *PushKey) create() (*ecdh.PrivateKey, error) {
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err == nil {
		err = fsutil.ReplaceFile(k.path, []byte(base64.RawURLEncoding.EncodeToString(key.Bytes())+"\n"))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot save the key for push services: %w", err)
	}
	return key, nil
}
