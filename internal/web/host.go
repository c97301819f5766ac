package web

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/service/notify/answers"
)

// hosts maps the values of the Host header that the listener answers to, to the origin of a page
// from there.
type hosts map[string]string

// hostsOf returns the hosts of a listener: its address and the configured hosts. A listener on all
// addresses has the loopback ones. The name localhost is not among them: it means two addresses, and
// another user can listen on the one that this listener does not have. A page from there has the same
// origin, so it can read the cookie and the key of a device.
func hostsOf(addr *net.TCPAddr, scheme string, configured []string) (hosts, error) {
	plainPort := 80
	if scheme == "https" {
		plainPort = 443
	}
	h := hosts{}
	names := []string{addr.IP.String()}
	if addr.IP.IsUnspecified() {
		names = []string{"127.0.0.1"}
		if addr.IP.To4() == nil { // a listener on all IPv6 addresses also has those of IPv4
			names = append(names, "::1")
		}
	}
	for _, name := range names {
		host := net.JoinHostPort(name, strconv.Itoa(addr.Port))
		h[host] = scheme + "://" + host
		if addr.Port == plainPort { // browsers leave this port out
			if strings.Contains(name, ":") {
				name = "[" + name + "]"
			}
			h[name] = scheme + "://" + name
		}
	}
	for _, text := range configured {
		host, origin, err := parseHost(text, scheme)
		if err != nil {
			return nil, err
		}
		h[host] = origin
	}
	return h, nil
}

// parseHost is [config.ParseWebHost] with an error.
func parseHost(text, listener string) (host, origin string, err error) {
	host, origin, ok := config.ParseWebHost(text, listener)
	if !ok {
		return "", "", fmt.Errorf("%w: %q is not a host: write a name in small letters, name:port or https://name", client.ErrInvalid, text)
	}
	return host, origin, nil
}

// isPublic reports whether a request reads the page or one of its files, which have no data.
func isPublic(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	return !slices.ContainsFunc([]string{"/api", "/auth", "/terminal", answers.Path}, func(prefix string) bool {
		return r.URL.Path == prefix || strings.HasPrefix(r.URL.Path, prefix+"/")
	})
}

// checkHost refuses a request with an unknown Host: another site can make a name of its own point to this machine (DNS
// rebinding).
func (l *listening) checkHost(r *http.Request) error {
	host := strings.ToLower(r.Host)
	if _, ok := l.hosts[host]; ok {
		return nil
	}
	if name, _, _ := strings.Cut(host, ":"); name == "localhost" {
		return fmt.Errorf("%w: host %.200q is not accepted: localhost has an IPv4 and an IPv6 address, and another user of this machine may listen on one of them; use %s", client.ErrForbidden, r.Host, l.url)
	}
	return fmt.Errorf("%w: host %.200q is not this web console; add it to hosts in [web] of city.toml", client.ErrForbidden, r.Host)
}

// provesItself reports whether a request is the press of an answer button. Its only credential is the
// token in its body, so no browser adds one by itself, and the app of a notification service says
// neither Origin nor Sec-Fetch-Site.
func provesItself(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == answers.Path
}

// checkOrigin refuses a request that a page of another origin caused, and an unsafe request that
// does not say where it comes from, unless it proves itself.
func (h hosts) checkOrigin(r *http.Request) error {
	origins, sites := r.Header["Origin"], r.Header["Sec-Fetch-Site"]
	if len(origins) > 1 || len(origins) == 1 && origins[0] != h[strings.ToLower(r.Host)] {
		return fmt.Errorf("%w: the request comes from the page %.200q", client.ErrForbidden, origins)
	}
	if len(sites) > 1 || len(sites) == 1 && sites[0] != "same-origin" && sites[0] != "none" && !isPublic(r) {
		return fmt.Errorf("%w: the request comes from another site", client.ErrForbidden)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && len(origins) == 0 && len(sites) == 0 && !provesItself(r) {
		return fmt.Errorf("%w: the request has neither the header Origin nor Sec-Fetch-Site", client.ErrForbidden)
	}
	if err := new(http.CrossOriginProtection).Check(r); err != nil {
		return fmt.Errorf("%w: %w", client.ErrForbidden, err)
	}
	return nil
}

// originOf returns the origin of the pages that send a request.
func (h hosts) originOf(r *http.Request) string { return h[strings.ToLower(r.Host)] }

// urls returns the addresses for people: first the one for links, then the others in order.
func (h hosts) urls(first string) []string {
	out := make([]string, 0, len(h))
	for _, origin := range h {
		if origin != first {
			out = append(out, origin+"/")
		}
	}
	slices.Sort(out)
	return append([]string{first + "/"}, slices.Compact(out)...)
}
