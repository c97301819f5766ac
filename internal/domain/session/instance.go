package session

import (
	"crypto/sha256"
	"encoding/hex"
)

// PublicInstance returns a public name for an instance, from which its token cannot be computed.
// An empty token has an empty name.
func PublicInstance(token string) string {
	if token == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("instance\x00" + token))
	return hex.EncodeToString(sum[:6])
}
