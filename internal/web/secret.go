package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
)

// digest is the SHA-256 of a secret: what the server stores.
type digest [sha256.Size]byte

// newSecret returns a secret of at least 128 random bits and its digest.
func newSecret() (string, digest) {
	secret := rand.Text()
	return secret, digestOf(secret)
}

// maxSecret is the size of the longest text that can be a secret, in bytes.
const maxSecret = 64

// digestOf returns the digest of a secret.
func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// equal compares two digests in constant time.
func (d digest) equal(other digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }
