package notification

import (
	"crypto/ecdh"
	"encoding/base64"
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// Subscription is how a browser gets messages by Web Push. With it, everybody who also has the key of the city can send messages
// to the browser, so it is stored in no database, event or log.
type Subscription struct {
	Endpoint string `json:"endpoint"` // address of the browser's push service
	P256DH   string `json:"p256dh"`   // public key of the browser: an uncompressed point of P-256 in base64url
	Auth     string `json:"auth"`     // 16 random bytes in base64url
}

// The sizes of the parts of a subscription, in bytes.
const (
	maxEndpoint = 2048
	authSize    = 16
)

// Check returns an error for a subscription to which nothing can be sent, or whose address cannot be that of a push service. It
// looks up no name: the address to which a name leads is checked when the connection is made, see [IsPublic].
func (s *Subscription) Check() error {
	at, err := url.Parse(s.Endpoint)
	if err != nil || len(s.Endpoint) > maxEndpoint || at.Scheme != "https" || at.Hostname() == "" || at.User != nil || at.Fragment != "" {
		return errors.New("the endpoint is not the https address of a push service")
	}
	host := strings.TrimSuffix(strings.ToLower(at.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil && !IsPublic(ip) || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return errors.New("the endpoint is an address of this machine or of a private network, where no push service is")
	}
	key, err := base64.RawURLEncoding.DecodeString(s.P256DH)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(key)
	}
	if err != nil {
		return errors.New("p256dh is not a public key of P-256 in base64url without padding")
	}
	if auth, err := base64.RawURLEncoding.DecodeString(s.Auth); err != nil || len(auth) != authSize {
		return errors.New("auth is not 16 bytes in base64url without padding")
	}
	return nil
}

// nat64 is the prefix under which a network translates addresses of IPv4.
const nat64 = "64:ff9b::/96"

// notPublic returns the networks that are not part of the public internet and that [netip.Addr] has no method for.
func notPublic() []string {
	return []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10", "::/96",
	}
}

// IsPublic reports whether an address is one of the public internet: not of this machine, of a private or shared network, or
// reserved.
func IsPublic(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if netip.MustParsePrefix(nat64).Contains(ip) {
		embedded := ip.As16()
		ip = netip.AddrFrom4([4]byte(embedded[12:]))
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() {
		return false
	}
	for _, network := range notPublic() {
		if netip.MustParsePrefix(network).Contains(ip) {
			return false
		}
	}
	return true
}
