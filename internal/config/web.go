package config

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Web is the [web] section: settings of the web console.
type Web struct {
	Keys
	Enabled  bool     `toml:"enabled" doc:"The controller serves the web console. Without it, gc web starts it."`
	Listen   string   `toml:"listen" doc:"Address and port, such as 127.0.0.1:8420. An address that other hosts can reach needs cert_file and key_file. Default: 127.0.0.1 and a free port, which stays the same."`
	Hosts    []string `toml:"hosts" doc:"Names by which browsers reach the web console, besides the address of the listener: name:port, or the name of a proxy with a certificate, such as box.example.ts.net. An origin such as http://box:8080 is also possible. Requests for other names are refused."`
	CertFile string   `toml:"cert_file" doc:"File with the certificate of the listener, PEM; relative to the city. It is read again when it changes."`
	KeyFile  string   `toml:"key_file" doc:"File with its private key, PEM; relative to the city."`
	URL      string   `toml:"url" doc:"Address of the web console for links in notifications, such as https://box.example.ts.net. Default: the first of hosts, else the address of the listener."`
}

// ParseWebHost parses an item of the key hosts: a name, a name with a port, or an origin such as
// https://name:8443. It returns the Host header and the origin that browsers send when they use
// that name. listener is "http" or "https", the scheme of gc's own listener; it applies to a name
// with a port. A name without a port has https, because a proxy with a certificate is then in front
// of gc. ok is false for any other text.
func ParseWebHost(text, listener string) (host, origin string, ok bool) {
	scheme, host, given := strings.Cut(text, "://")
	if !given {
		scheme, host = listener, text
		if _, _, err := net.SplitHostPort(text); err != nil {
			scheme = "https"
		}
	}
	at, err := url.Parse(scheme + "://" + host)
	if err != nil || scheme != "http" && scheme != "https" || at.Host != host || at.Hostname() == "" || strings.ContainsAny(host, " *\\@") || host != strings.ToLower(host) {
		return "", "", false
	}
	if port := at.Port(); port == "80" && scheme == "http" || port == "443" && scheme == "https" { // browsers leave it out
		host = strings.TrimSuffix(host, ":"+port)
	}
	return host, scheme + "://" + host, true
}

// web checks the [web] table.
func (c *checker) web() {
	w := &c.city.Web
	for i, host := range w.Hosts {
		if _, _, ok := ParseWebHost(host, "http"); !ok {
			c.fail(w.ItemOrigin("hosts", i), `write it like "name:8420" or "box.example.ts.net", in lower case`, "%q is not the name of a host", host)
		}
	}
	if (w.CertFile == "") != (w.KeyFile == "") {
		c.fail(w.Header(), "write both", "cert_file and key_file belong together")
	}
	if w.URL != "" && !IsWebAddress(w.URL) {
		c.fail(w.Origin("url"), `write it like "https://box.example.ts.net"`, "%q is not the address of a web console", w.URL)
	}
	c.file(w.Origin("cert_file"), "cert_file", w.CertFile)
	c.file(w.Origin("key_file"), "key_file", w.KeyFile)
	if w.Listen == "" {
		return
	}
	host, port, err := net.SplitHostPort(w.Listen)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		c.fail(w.Origin("listen"), `write it like "127.0.0.1:8420"`, "%q is not an address with a port", w.Listen)
	} else if w.CertFile == "" && !IsLoopback(host) {
		c.fail(w.Origin("listen"), "set cert_file and key_file, or listen on 127.0.0.1 behind a proxy", "other hosts can reach %q, and without a certificate others could read the sign-in", w.Listen)
	}
}

// IsLoopback reports whether a listener on the address can be reached only from this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
