package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Scope is what a device of the web console may do. Each scope includes the ones before it in
// [Scopes].
type Scope string

// The scopes.
const (
	ScopeSee    Scope = "see"    // read everything
	ScopeAnswer Scope = "answer" // answer questions of agents
	ScopeType   Scope = "type"   // send prompts and keys
	ScopeManage Scope = "manage" // start, stop and configure agents
)

// Scopes returns the scopes, the lowest first.
func Scopes() []Scope { return []Scope{ScopeSee, ScopeAnswer, ScopeType, ScopeManage} }

// Includes reports whether a device with the scope s also has the other scope. An unknown scope includes
// nothing and is included in nothing.
func (s Scope) Includes(other Scope) bool {
	own, wanted := slices.Index(Scopes(), s), slices.Index(Scopes(), other)
	return wanted >= 0 && own >= wanted
}

// UpTo returns the scopes that s includes, the lowest first.
func (s Scope) UpTo() []Scope { return Scopes()[:slices.Index(Scopes(), s)+1] }

// Web is the state of the web console.
type Web struct {
	Running bool   `json:"running"`
	URL     string `json:"url,omitempty"` // of the listener, on this machine
	// URLs are all addresses that the web console answers to: that of the listener, and those of
	// the configured hosts.
	URLs  []string `json:"urls,omitempty"`
	Error string   `json:"error,omitempty"` // why it does not run although it is to run
	// Dev is the directory whose sources of the pages are served, see [WebRequest]. Empty: the pages of the binary.
	Dev string `json:"dev,omitempty"`
}

// WebRequest starts the web console.
type WebRequest struct {
	Listen string `json:"listen,omitempty"` // address and port; empty: those of city.toml, or the last ones
	// Dev is an absolute path: a checkout of gc whose sources of the pages are served, not bundled and not cached, until the web
	// console stops. It is for people who change the pages. It is refused if more than this machine can reach the listener. Empty: no
	// change.
	Dev string `json:"dev,omitempty"`
}

// WebCodeRequest makes a code that signs one device in.
type WebCodeRequest struct {
	Scope Scope `json:"scope,omitempty"` // the highest scope of the device; empty: manage
	// Host is the name in the link, one of the configured hosts. Empty: the address of the
	// listener, which only this machine can reach.
	Host string `json:"host,omitempty"`
}

// Check returns [ErrInvalid] if the request can never succeed without a change.
func (r WebCodeRequest) Check() error {
	if r.Scope != "" && !slices.Contains(Scopes(), r.Scope) {
		var words []string
		for _, s := range Scopes() {
			words = append(words, string(s))
		}
		return invalid("the scope %q is not one of %s", r.Scope, strings.Join(words, ", "))
	}
	if len(r.Host) > MaxName {
		return invalid("the host has more than %d bytes", MaxName)
	}
	return nil
}

// WebCode is a code that signs one device in. It is a secret until it is used or has expired.
type WebCode struct {
	Code    string    `json:"code"`
	Link    string    `json:"link"` // the address with the code behind #, which no browser sends
	Scope   Scope     `json:"scope"`
	Expires time.Time `json:"expires"`
}

// WebDevice is a browser that is signed in to the web console.
type WebDevice struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Scopes   []Scope   `json:"scopes"`
	Created  time.Time `json:"created"`
	LastSeen time.Time `json:"last_seen"`
	Open     int       `json:"open"`               // requests, streams and terminals that are open now
	Notified bool      `json:"notified,omitempty"` // it gets notifications by Web Push
}

// MaxDeviceName is the maximum size of the name of a device, in bytes.
const MaxDeviceName = 64

// CheckDeviceName returns [ErrInvalid] for a name that people could not read on one line.
func CheckDeviceName(name string) error {
	if strings.TrimSpace(name) == "" || len(name) > MaxDeviceName || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return invalid("the name of a device has 1 to %d bytes and only printable characters", MaxDeviceName)
	}
	return nil
}

// Web returns the state of the web console.
func (c *Client) Web(ctx context.Context) (Web, error) {
	return call[Web](ctx, c, http.MethodGet, "/v1/web", nil)
}

// StartWeb starts the web console. It stays on, also after a restart of the controller, until
// [Client.StopWeb]. If it is on, only another address or other pages change something.
func (c *Client) StartWeb(ctx context.Context, req WebRequest) (Web, error) {
	return call[Web](ctx, c, http.MethodPost, "/v1/web", req)
}

// StopWeb stops the web console. Its devices stay signed in for the next start.
func (c *Client) StopWeb(ctx context.Context) (Web, error) {
	return call[Web](ctx, c, http.MethodDelete, "/v1/web", nil)
}

// NewWebCode makes a code that signs one device in, once, within 60 s. If the web console is not
// on, the error is [ErrRefused].
func (c *Client) NewWebCode(ctx context.Context, req WebCodeRequest) (WebCode, error) {
	return call[WebCode](ctx, c, http.MethodPost, "/v1/web/codes", req)
}

// WebDevices returns the devices that are signed in to the web console, oldest first.
func (c *Client) WebDevices(ctx context.Context) ([]WebDevice, error) {
	return call[[]WebDevice](ctx, c, http.MethodGet, "/v1/web/devices", nil)
}

// RevokeWebDevice signs a device out of the web console and ends its open streams and terminals.
func (c *Client) RevokeWebDevice(ctx context.Context, id string) (WebDevice, error) {
	return call[WebDevice](ctx, c, http.MethodDelete, "/v1/web/devices/"+url.PathEscape(id), nil)
}
