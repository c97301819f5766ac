package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/server/controlapi"
	"gascity/internal/server/httpkit"
	"gascity/internal/service/notify/answers"
)

// The names of headers and protocols. A browser sends none of them by itself.
const (
	KeyHeader        = "Gc-Web-Key"
	TerminalProtocol = "gc-terminal.v1" // the WebSocket subprotocol of terminals
	ticketPrefix     = "ticket."        // of the subprotocol that carries a ticket
)

// policy is the Content-Security-Policy. Styles may be inline because xterm.js makes style elements.
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// securityHeaders are on every answer. They must not be changed.
var securityHeaders = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), microphone=(), geolocation=()",
}

// signInPath is the path of the sign-in.
const signInPath = "/auth/sign-in"

const (
	authBody  = 4 << 10          // limit of the bodies of sign-in and tickets in bytes
	bodyTime  = 10 * time.Second // how long a body may take
	pressTime = 30 * time.Second // how long the answer of a button may take
	bigBody   = 256 << 10        // a route with a larger limit has large bodies, which may take longer
	bigTime   = time.Minute
	bigBodies = 8   // large bodies at a time; they are in memory
	maxCookie = 16  // cookies with the name of the device's cookie that are tried
	maxTarget = 256 // bytes of the name of an object in an event
)

// console serves the requests of one listener.
type console struct {
	*httpkit.API
	server *Server
	run    *listening
}

// handler returns the handler of a listener. s.mu may be locked.
func (s *Server) handler(run *listening, routes []controlapi.Mounted) http.Handler {
	c := &console{API: s.api(), server: s, run: run}
	mux := http.NewServeMux()
	handle := func(pattern string, serve func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil {
				c.Refuse(w, r, err)
			}
		})
	}
	for _, route := range routes {
		handle(route.Method+" /api"+route.Path, func(w http.ResponseWriter, r *http.Request) error { return c.call(w, r, route) })
	}
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"POST " + signInPath:   c.signIn,
		"GET /auth/me":         c.me,
		"POST /auth/sign-out":  c.signOut,
		"POST /auth/tickets":   c.newTicket,
		"GET /auth/push":       c.push,
		"POST /auth/push":      c.subscribe,
		"DELETE /auth/push":    c.unsubscribe,
		"GET /terminal":        c.terminal,
		"POST " + answers.Path: c.press,
	} {
		handle(pattern, serve)
	}
	for _, pattern := range []string{"/api/", "/auth/", "/terminal", "/api", "/auth", answers.Path} {
		mux.HandleFunc(pattern, c.RefusePath)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if !isPublic(r) || !run.files.serve(w, r) {
			c.RefusePath(w, r)
		}
	})
	admitted := c.Handler(mux, run.checkHost, run.hosts.checkOrigin)
	checked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := c.admit(r); err != nil {
			w.Header().Set("Retry-After", "1")
			c.Refuse(w, r, err)
			return
		}
		admitted.ServeHTTP(w, r)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		w.Header().Set(client.VersionHeader, c.Version)
		if r.ContentLength == 0 {
			checked.ServeHTTP(w, r)
			return
		}
		body := &unreadBody{ReadCloser: r.Body}
		r.Body = body
		w.Header().Set("Connection", "close") // readBody removes it
		checked.ServeHTTP(w, r)
		if !body.ended { // net/http would wait for the rest of it
			_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // an error means that the connection is gone
		}
	})
}

// unreadBody is a body that records whether it was read to its end.
type unreadBody struct {
	io.ReadCloser
	ended bool
}

// Read implements [io.Reader].
func (b *unreadBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// call serves a route of the control API for a device. A request that changes something is recorded as an event first.
func (c *console) call(w http.ResponseWriter, r *http.Request, route controlapi.Mounted) error {
	return c.asDevice(w, r, route.Scope, route.MaxBody, func(ctx context.Context, device client.WebDevice) error {
		if route.Changes {
			target := r.PathValue("target") + r.PathValue("id") + r.PathValue("name") // a route has at most one of them
			target = strings.ToValidUTF8(target[:min(len(target), maxTarget)], "")
			data := eventData(r, device, route.Scope)
			data["operation"] = route.ID
			if target != "" {
				data["target"] = target
			}
			if err := c.server.record(ctx, event.WebRequest, "the device "+device.Name+" requests: "+strings.TrimSpace(route.ID+" "+target), data); err != nil {
				return fmt.Errorf("%w: the request was not recorded, so it was not made: %w", client.ErrUnavailable, err)
			}
		}
		route.Handler.ServeHTTP(&bodyRead{w}, r.WithContext(ctx))
		return nil
	})
}

// bodyRead is the writer of an answer to a request whose body was read. Its handler cannot set a
// deadline for reading, which would end a long answer.
type bodyRead struct{ http.ResponseWriter }

// SetReadDeadline does nothing.
func (*bodyRead) SetReadDeadline(time.Time) error { return nil }

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *bodyRead) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// asDevice calls serve for a request that proves a device with the scope. It reads the body, up to a
// limit in bytes; zero means that there is none.
func (c *console) asDevice(w http.ResponseWriter, r *http.Request, scope client.Scope, maxBody int64, serve func(context.Context, client.WebDevice) error) error {
	ctx, device, leave, err := c.server.devices.enter(r.Context(), proof{c.cookies(r), keyOf(r)})
	if err != nil {
		return err
	}
	defer leave()
	proveConn(r.Context())
	if err := c.server.devices.allow(device.ID, scope != client.ScopeSee); err != nil {
		return err
	}
	if err := checkScope(device, scope); err != nil {
		return err
	}
	if maxBody > bigBody && (r.ContentLength > bigBody || r.ContentLength < 0) { // the size of a body in chunks is not known
		select {
		case c.server.big <- struct{}{}:
			defer func() { <-c.server.big }()
		default:
			return fmt.Errorf("%w: %d large requests are in progress; try again in a moment", client.ErrTooMany, bigBodies)
		}
	}
	if err := c.readBody(w, r, maxBody); err != nil {
		return err
	}
	return serve(ctx, device)
}

// checkScope returns an error if the device does not have the scope.
func checkScope(device client.WebDevice, scope client.Scope) error {
	own := device.Scopes
	if len(own) == 0 || !own[len(own)-1].Includes(scope) {
		return fmt.Errorf("%w: this device does not have the scope %q; sign in again with a code from: gc web --scope %s", client.ErrForbidden, scope, scope)
	}
	return nil
}

// keyOf returns the key of a request.
func keyOf(r *http.Request) string {
	if keys := r.Header[KeyHeader]; len(keys) == 1 {
		return keys[0]
	}
	return ""
}

// cookieName returns the name of the device's cookie. It contains the city, because all ports of a
// host share cookies. A browser accepts the second form only from an HTTPS page.
func (s *Server) cookieName(secure bool) string {
	name := "gc_device_" + s.opts.ID
	if secure {
		return "__Host-" + name
	}
	return name
}

// cookies returns the digests of the device's cookies in a request.
func (c *console) cookies(r *http.Request) []digest {
	var out []digest
	for _, secure := range []bool{true, false} {
		for _, cookie := range r.CookiesNamed(c.server.cookieName(secure)) {
			if len(out) < maxCookie && len(cookie.Value) <= maxSecret {
				out = append(out, digestOf(cookie.Value))
			}
		}
	}
	return out
}

// readBody reads the body of a request into memory, up to a limit in bytes and within a time.
func (c *console) readBody(w http.ResponseWriter, r *http.Request, limit int64) error {
	if r.ContentLength == 0 {
		return nil
	}
	if limit == 0 {
		return fmt.Errorf("%w: the request has a body", client.ErrInvalid)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return fmt.Errorf("%w: Content-Type must be application/json", client.ErrInvalid)
	}
	within := cmp.Or(c.server.opts.Patience, bodyTime)
	if limit > bigBody {
		within = bigTime
	}
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		if _, over := errors.AsType[*http.MaxBytesError](err); over {
			return fmt.Errorf("%w: the body has more than %d bytes", client.ErrInvalid, limit)
		}
		return fmt.Errorf("%w: cannot read the whole body: %w", client.ErrInvalid, err)
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	w.Header().Del("Connection")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

// decode decodes the body of a request. It refuses unknown fields.
func decode[T any](r *http.Request) (T, error) {
	var in T
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = httpkit.DecodeStrictly(text, &in)
	}
	if err != nil {
		return in, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	return in, nil
}

// write answers with a value as JSON. Nothing is masked: the values are the device's own.
func write(w http.ResponseWriter, out any) error {
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	if err := httpkit.SetDeadline(w, httpkit.AnswerTime); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // an error means that the reader is gone
	return nil
}

// deviceView is a device as the page gets it.
type deviceView struct {
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Scopes []client.Scope `json:"scopes"`
	Start  bool           `json:"start,omitempty"` // there is no city yet
}

func (s *Server) viewOf(d client.WebDevice) deviceView {
	return deviceView{d.ID, d.Name, d.Scopes, s.opts.Start}
}

// signIn makes a device of a code. A correct code is never limited; wrong ones are.
func (c *console) signIn(w http.ResponseWriter, r *http.Request) error {
	if err := c.readBody(w, r, authBody); err != nil {
		return err
	}
	in, err := decode[struct {
		Code   string `json:"code"`
		Device string `json:"device"`
	}](r)
	if err == nil {
		err = client.CheckDeviceName(in.Device)
	}
	if err != nil {
		return err
	}
	scope, ok := c.server.codes.redeem(in.Code, c.server.opts.Now())
	if !ok {
		return c.server.wrongCode()
	}
	device, own, err := c.server.devices.signIn(in.Device, scope)
	if err != nil {
		return err
	}
	if old, ok := c.server.devices.ownerOf(c.cookies(r)); ok { // the new cookie replaces that of the same browser
		if _, err := c.server.signOut(old.ID); err != nil {
			c.Log.Error(err.Error())
		}
		c.server.emit(r.Context(), event.WebSignedOut, "the device "+old.Name+" signed in again", map[string]string{"device": old.ID, "name": old.Name})
	}
	proveConn(r.Context())
	data := eventData(r, device, scope)
	if err := c.server.record(r.Context(), event.WebSignedIn, "the device "+device.Name+" signed in", data); err != nil {
		_, undone := c.server.signOut(device.ID)
		return errors.Join(fmt.Errorf("%w: the sign-in was not recorded: %w", client.ErrUnavailable, err), undone)
	}
	c.setCookie(w, r, own.cookie)
	return write(w, map[string]any{"key": own.key, "device": c.server.viewOf(device)})
}

// press answers a question with the token of an answer button. The token is the only credential of
// the request: whether there is a device does not matter. The answer says only how it ended.
func (c *console) press(w http.ResponseWriter, r *http.Request) error {
	if err := c.readBody(w, r, authBody); err != nil {
		return err
	}
	in, err := decode[answers.Request](r)
	if err != nil {
		return err
	}
	if c.server.opts.Answer == nil {
		return fmt.Errorf("%w: there are no answer buttons here", client.ErrForbidden)
	}
	ctx, end := c.Bound(r.Context(), pressTime)
	defer end()
	asked, err := c.server.opts.Answer(ctx, in.Token)
	if err != nil {
		return c.ErrorOf(ctx, err)
	}
	return write(w, map[string]string{"question": asked.ID, "state": asked.State})
}

// wrongCode returns the error of a wrong code.
func (s *Server) wrongCode() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.wrong.Allow(wrongCodes, s.opts.Now()) {
		return fmt.Errorf("%w: too many wrong codes", client.ErrTooMany)
	}
	return fmt.Errorf("%w: the code is wrong, was used or has expired; make another one: gc web", client.ErrUnauthorized)
}

// cookieAge is the longest age of a cookie that browsers accept, in seconds.
const cookieAge = 400 * 24 * 3600

// setCookie sets the device's cookie, or removes it if the value is empty.
func (c *console) setCookie(w http.ResponseWriter, r *http.Request, value string) {
	secure := strings.HasPrefix(c.run.hosts.originOf(r), "https://")
	cookie := &http.Cookie{Name: c.server.cookieName(secure), Value: value, Path: "/", MaxAge: cookieAge, HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// me answers with the device that the request proves.
func (c *console) me(w http.ResponseWriter, r *http.Request) error {
	return c.asDevice(w, r, client.ScopeSee, 0, func(_ context.Context, device client.WebDevice) error { return write(w, c.server.viewOf(device)) })
}

// signOut signs the device out.
func (c *console) signOut(w http.ResponseWriter, r *http.Request) error {
	return c.asDevice(w, r, client.ScopeSee, authBody, func(ctx context.Context, device client.WebDevice) error {
		_, err := c.server.signOut(device.ID)
		c.server.emit(ctx, event.WebSignedOut, "the device "+device.Name+" signed out", map[string]string{"device": device.ID, "name": device.Name})
		if err != nil {
			return err
		}
		c.setCookie(w, r, "")
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

// newTicket answers with a ticket for one terminal.
func (c *console) newTicket(w http.ResponseWriter, r *http.Request) error {
	return c.asDevice(w, r, client.ScopeSee, authBody, func(_ context.Context, device client.WebDevice) error {
		in, err := decode[struct {
			Session string `json:"session"`
			Type    bool   `json:"type"`
		}](r)
		if err != nil {
			return err
		}
		if in.Session == "" || len(in.Session) > 1024 {
			return fmt.Errorf("%w: the session has no name, or a name of more than 1024 bytes", client.ErrInvalid)
		}
		if in.Type {
			if err := checkScope(device, client.ScopeType); err != nil {
				return err
			}
		}
		secret, _ := c.server.tickets.issue(ticket{device.ID, in.Session, in.Type}, c.server.opts.Now())
		return write(w, map[string]string{"ticket": secret})
	})
}

// terminal serves a WebSocket of a terminal.
func (c *console) terminal(w http.ResponseWriter, r *http.Request) error {
	c.run.terminal.Add(1) // net/http does not wait for a connection that a handler took over
	defer c.run.terminal.Done()
	if r.ContentLength != 0 {
		return fmt.Errorf("%w: the request has a body", client.ErrInvalid)
	}
	if r.Header.Get("Origin") == "" { // its value was checked
		return fmt.Errorf("%w: the header Origin is missing", client.ErrForbidden)
	}
	presented, err := ticketOf(r)
	if err != nil {
		return err
	}
	t, ok := c.server.tickets.redeem(presented, c.server.opts.Now())
	if !ok {
		return fmt.Errorf("%w: the ticket is wrong, was used or has expired", client.ErrUnauthorized)
	}
	ctx, device, leave, err := c.server.devices.enterByTicket(r.Context(), t, c.cookies(r))
	if err != nil {
		return err
	}
	defer leave()
	proveConn(r.Context())
	scope := client.ScopeSee
	if t.typing {
		scope = client.ScopeType
	}
	if err := checkScope(device, scope); err != nil {
		return err
	}
	if c.server.opts.Terminal == nil {
		return fmt.Errorf("%w: this build has no terminals on the web", client.ErrUnsupported)
	}
	if t.typing {
		data := eventData(r, device, scope)
		data["target"] = strings.ToValidUTF8(t.session[:min(len(t.session), maxTarget)], "")
		if err := c.server.record(ctx, event.WebTerminal, "the device "+device.Name+" opened a terminal of "+t.session, data); err != nil {
			return fmt.Errorf("%w: the terminal was not opened, because that could not be recorded as an event: %w", client.ErrUnavailable, err)
		}
	}
	ctx, end := c.Bound(ctx, 0)
	defer end()
	c.server.opts.Terminal(ctx, w, r, Grant{device, t.session, t.typing})
	return nil
}

// ticketOf returns the ticket in the subprotocols of a WebSocket request.
func ticketOf(r *http.Request) (string, error) {
	var found []string
	known := false
	for _, line := range r.Header["Sec-Websocket-Protocol"] {
		for protocol := range strings.SplitSeq(line, ",") {
			protocol = strings.TrimSpace(protocol)
			known = known || protocol == TerminalProtocol
			if secret, ok := strings.CutPrefix(protocol, ticketPrefix); ok {
				found = append(found, secret)
			}
		}
	}
	if !known || len(found) != 1 {
		return "", fmt.Errorf("%w: a terminal needs the subprotocols %s and %sTICKET", client.ErrInvalid, TerminalProtocol, ticketPrefix)
	}
	return found[0], nil
}

// maxClaim is how much of an identity header is recorded, in bytes.
const maxClaim = 256

// eventData returns the data that all events of a device have.
func eventData(r *http.Request, device client.WebDevice, scope client.Scope) map[string]string {
	data := map[string]string{"device": device.ID, "name": device.Name, "scope": string(scope)}
	for _, header := range []string{"Tailscale-User-Login", "Cf-Access-Authenticated-User-Email"} {
		if claim := r.Header.Get(header); claim != "" {
			data["claimed"] = strings.ToValidUTF8(claim[:min(len(claim), maxClaim)], "")
			break
		}
	}
	return data
}
