package notification

import (
	"net/netip"
	"strings"
	"testing"
)

func TestIsPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"142.250.1.1": true, "2a00:1450:4001::200a": true, "64:ff9b::8efa:101": true, "::ffff:142.250.1.1": true,
		"127.0.0.1": false, "127.1.2.3": false, "::1": false, "0.0.0.0": false, "::": false, "::ffff:127.0.0.1": false, "::127.0.0.1": false,
		"10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "::ffff:10.0.0.1": false, "fd00::1": false, "fe80::1%eth0": false,
		"169.254.169.254": false, "100.64.0.1": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false,
		"224.0.0.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false, "198.18.0.1": false, "192.0.2.1": false,
	} {
		if got := IsPublic(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: public is %v, want %v", address, got, want)
		}
	}
}

func TestSubscriptionIsChecked(t *testing.T) {
	t.Parallel()
	good := Subscription{
		Endpoint: "https://push.example.com/send/abc",
		P256DH:   "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", // of RFC 8291
		Auth:     "BTBZMqHH6r4Tts7J_aSIgg",
	}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for _, endpoint := range []string{
		"", "http://push.example.com/x", "ftp://push.example.com/", "https:///x", "https://user:pw@push.example.com/", "//push.example.com", "https://push.example.com/#x",
		"https://127.0.0.1/x", "https://127.0.0.1:8420/x", "https://[::1]/x", "https://localhost/x", "https://LOCALHOST./x", "https://a.localhost/", "https://10.0.0.1/",
		"https://169.254.169.254/latest/meta-data", "https://[fe80::1%25eth0]/", "https://[::ffff:192.168.0.1]/", "https://push.example.com/" + strings.Repeat("x", 2048),
	} {
		s := good
		if s.Endpoint = endpoint; s.Check() == nil {
			t.Errorf("the endpoint %.80s is accepted", endpoint)
		}
	}
	for _, key := range []string{"", "AAAA", good.P256DH + "=", good.P256DH[:86], "BA" + good.P256DH[2:]} {
		s := good
		if s.P256DH = key; s.Check() == nil {
			t.Errorf("the key %q is accepted", key)
		}
	}
	for _, auth := range []string{"", "AAAA", good.Auth + "AA", "+/" + good.Auth[2:]} {
		s := good
		if s.Auth = auth; s.Check() == nil {
			t.Errorf("the secret %q is accepted", auth)
		}
	}
}
