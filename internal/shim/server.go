package shim

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
)

// maxSocketPath is the longest path of a Unix socket that all supported systems accept, in bytes.
const maxSocketPath = 103

// maxInput bounds one piece of input, maxBody the body of any request, in bytes. A body may be larger because the text of a
// delivery is encoded as JSON.
const (
	maxInput = 4 << 20
	maxBody  = 16 << 20
)

// listen creates the socket with mode 0600. The folder above it has mode 0700, so no other user can connect before the mode is
// set.
func listen(path string) (*net.UnixListener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("socket path %s has %d bytes, the system allows %d; choose a shorter state folder", path, len(path), maxSocketPath)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the owner of the folder removes it; see statedir.Folder.Clear
	return l, os.Chmod(path, 0o600)
}

type server struct {
	host   *host
	token  atomic.Pointer[[]byte] // the Authorization header that a request must have
	http   http.Server
	served sync.WaitGroup // one goroutine for each listener
}

// A route handles one request. Its result is the body of the response; nil is answered with status 204.
type route func(r *http.Request) (any, error)

// body returns a route that calls handle with the value of the request's JSON body.
func body[T any](handle func(r *http.Request, req T) (any, error)) route {
	return func(r *http.Request) (any, error) {
		var req T
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			return nil, fmt.Errorf("%w: %w", errInvalid, err)
		}
		return handle(r, req)
	}
}

// input returns a route that calls handle with the request's body, which is input for the agent.
func input(handle func(r *http.Request, p []byte) (any, error)) route {
	return func(r *http.Request) (any, error) {
		p, err := io.ReadAll(r.Body)
		if err == nil && len(p) > maxInput {
			err = fmt.Errorf("%d bytes at once, the limit is %d", len(p), maxInput)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errInvalid, err)
		}
		return handle(r, p)
	}
}

// newServer returns the HTTP server of the shim. token is the instance token that requests must have.
func newServer(h *host, token string) *server {
	s := &server{host: h}
	s.setToken(token)
	mux := http.NewServeMux()
	for pattern, handle := range map[string]route{
		"GET /state":           h.serveState,
		"GET /frame":           h.serveFrame,
		"GET /text":            h.serveText,
		"POST /input":          input(h.serveInput),
		"POST /type":           input(h.serveType),
		"POST /keys":           body(h.serveKeys),
		"POST /resize":         body(h.serveResize),
		"POST /interrupt":      h.serveInterrupt,
		"POST /stop":           h.serveStop,
		"POST /release":        h.serveRelease,
		"POST /succeed":        body(h.serveRelaunch),
		"POST /clear":          h.serveClear,
		"PUT /agent":           body(h.serveAgent),
		"PUT /hints":           body(h.serveHints),
		"POST /deliver":        body(h.serveDeliver),
		"DELETE /deliver":      h.serveCancel,
		"POST /resolve":        body(h.serveResolve),
		"POST /interrupt-turn": body(h.withTerminal(inject.Interrupt)),
		"POST /clear-input":    body(h.withTerminal(inject.ClearInput)),
		"POST /answered":       body(h.serveAnswered),
		"GET /meta":            h.serveGetMeta,
		"PUT /meta":            body(h.serveSetMeta),
		"DELETE /meta":         h.serveRemoveMeta,
	} {
		mux.Handle(pattern, s.answer(handle))
	}
	for pattern, handle := range h.previousRoutes() {
		mux.Handle(pattern, s.answer(handle))
	}
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("POST /attach", s.attach)
	mux.HandleFunc("POST /terminal", s.stream)
	mux.HandleFunc("POST /hold", s.handleHold)
	mux.HandleFunc("POST /lease", s.handleLease)
	s.http = http.Server{
		Handler: s.guard(mux), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	return s
}

// setToken sets the token that requests must have.
func (s *server) setToken(token string) {
	bearer := []byte("Bearer " + token)
	s.token.Store(&bearer)
}

type connKey struct{}

// guard refuses requests of other users and requests with a wrong token.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _ := r.Context().Value(connKey{}).(*net.UnixConn)
		uid, _, err := proc.PeerUID(conn)
		if err != nil || uid != os.Getuid() && uid != 0 {
			http.Error(w, "this session belongs to another user", http.StatusForbidden)
			return
		}
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), *s.token.Load()) != 1 {
			fail(w, http.StatusConflict, codeStale, "the session runs another instance than the request is for")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// answer returns an HTTP handler that encodes the result or the error of a route.
func (s *server) answer(handle route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		body, err := handle(r)
		switch {
		case err == nil && body == nil:
			w.WriteHeader(http.StatusNoContent)
		case err == nil:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
		case errors.Is(err, errInvalid), errors.Is(err, inject.ErrNoDelivery), errors.Is(err, inject.ErrInput):
			fail(w, http.StatusBadRequest, codeInvalid, err.Error())
		case errors.Is(err, errors.ErrUnsupported):
			fail(w, http.StatusNotImplemented, codeUnsupported, err.Error())
		case errors.Is(err, ErrExited), errors.Is(err, screen.ErrExited):
			fail(w, http.StatusGone, codeExited, err.Error())
		case errors.Is(err, inject.ErrTouched):
			fail(w, http.StatusConflict, codeTouched, err.Error())
		case errors.Is(err, inject.ErrChanged):
			fail(w, http.StatusConflict, codeChanged, err.Error())
		default:
			fail(w, http.StatusInternalServerError, codeFailed, err.Error())
		}
	})
}

var errInvalid = errors.New("invalid request")

// fail answers a request with an error status and a JSON problem: a code for programs and a detail for people.
func fail(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(problem{Code: code, Detail: detail}) // the client may have disconnected
}

// accept serves requests on the listener until shutdown.
func (s *server) accept(l *net.UnixListener) {
	s.served.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			fmt.Fprintln(os.Stderr, "shim: the server of the socket has stopped, so requests get no answer:", err)
		}
	})
}

// lastAnswers is how long shutdown waits for requests in progress when the shim exits. Requests that wait for a change return
// at once, so each needs only to write its response.
const lastAnswers = 250 * time.Millisecond

// shutdown waits up to lastAnswers for requests in progress. Attached connections are not tracked by the HTTP server; they
// close when the process exits.
func (s *server) shutdown() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.host.ctx), lastAnswers)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	s.served.Wait()
	return err
}

// serveState returns the current state. If the agent has exited, the shim exits soon afterwards.
func (h *host) serveState(*http.Request) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	state := h.stateLocked()
	if state.Exit != nil {
		h.expireLocked(time.Second)
	}
	return state, nil
}

// serveFrame waits until there is a frame newer than the one that the caller has, or the agent has exited, and returns the newest
// frame.
func (h *host) serveFrame(r *http.Request) (any, error) {
	after, err := strconv.ParseUint(r.FormValue("after"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: after: %w", errInvalid, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.seq <= after && h.exit == nil {
		if err := h.waitLocked(r.Context(), h.changed); err != nil {
			return nil, err
		}
	}
	line := h.run.streams.LineState()
	f := Frame{
		Seq: h.seq, Title: h.title, Signs: h.signsLocked(), Line: line.Line, Input: line.Input, Cooked: line.Lines, Silent: line.Silent,
		LastOutput: h.lastOutput, LastHuman: h.lastHuman, Attached: h.attachedLocked(), Exited: h.exit != nil,
	}
	if screen, ok := h.screen(); ok {
		f.Cols, f.Rows = screen.Size()
		f.Redraw = screen.Redraw()
	} else {
		f.Lines = h.display.Lines(frameLines)
	}
	return f, nil
}

// frameLines is how many lines of captured output a frame has if there is no screen.
const frameLines = 50

// serveText returns the last lines of output.
func (h *host) serveText(r *http.Request) (any, error) {
	n, err := strconv.Atoi(r.FormValue("lines"))
	if err != nil {
		return nil, fmt.Errorf("%w: lines: %w", errInvalid, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return textResult{Text: joinLines(h.display.Lines(n))}, nil
}

// serveInput writes the request body to the agent's input. Input of a delivery names its lease.
func (h *host) serveInput(r *http.Request, p []byte) (any, error) {
	if r.FormValue("lease") != "" {
		return h.serveLeasedInput(r, p)
	}
	return h.send(r.Context(), func() ([]byte, error) { return p, nil })
}

// sendOtherInput sends input that is not part of a delivery. Before it, it sends the keys that delete a delivery's text from
// the input box.
func (h *host) sendOtherInput(ctx context.Context, p []byte) (any, error) {
	return h.send(ctx, func() ([]byte, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return slices.Concat(h.touchLocked(p), p), nil
	})
}

// send waits for its turn to write, calls next, and writes the result of next.
func (h *host) send(ctx context.Context, next func() ([]byte, error)) (any, error) {
	h.mu.Lock()
	input, exited := h.run.input, h.exit != nil
	h.mu.Unlock()
	if exited {
		return nil, ErrExited
	}
	n, err := input.WriteNext(ctx, next)
	if err != nil {
		err = fmt.Errorf("only %d bytes were written: %w", n, err)
	}
	return nil, err
}

// serveKeys writes the keys with the given names to the terminal.
func (h *host) serveKeys(r *http.Request, names []string) (any, error) {
	h.mu.Lock()
	screen, ok := h.screen()
	var modes vt.Modes
	if ok {
		modes = screen.Modes()
	}
	h.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("%w: the session has no terminal", errInvalid)
	}
	var input []byte
	for _, name := range names {
		key, err := vt.Key(name, modes)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errInvalid, err)
		}
		input = append(input, key...)
	}
	return h.sendOtherInput(r.Context(), input)
}

// serveResize resizes the terminal.
func (h *host) serveResize(_ *http.Request, size resizeRequest) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return nil, h.resizeLocked(size.Cols, size.Rows)
}

// The sizes that a terminal may have.
const (
	minSide = 2
	maxSide = 2000
)

// resizeLocked resizes the terminal and its screen model, if the size is different.
func (h *host) resizeLocked(cols, rows int) error {
	screen, ok := h.screen()
	if !ok {
		return fmt.Errorf("%w: the session has no terminal", errInvalid)
	}
	if min(cols, rows) < minSide || max(cols, rows) > maxSide {
		return fmt.Errorf("%w: %dx%d is not a valid size for a terminal", errInvalid, cols, rows)
	}
	if c, r := screen.Size(); c == cols && r == rows {
		return nil
	}
	if err := h.run.streams.Resize(cols, rows); err != nil {
		return err
	}
	screen.Resize(cols, rows)
	h.bumpLocked()
	return nil
}

// serveInterrupt sends Ctrl-C to the terminal, or SIGINT to the agent's process group if there is no terminal.
func (h *host) serveInterrupt(r *http.Request) (any, error) {
	if h.spec.Terminal {
		return h.sendOtherInput(r.Context(), []byte{0x03})
	}
	h.mu.Lock()
	root, exited := h.record.Root, h.exit != nil
	h.mu.Unlock()
	if exited {
		return nil, ErrExited
	}
	return nil, interruptGroup(root)
}

// serveStop serves the request to stop the session. The request names the time that the agent has to exit; the default
// is DefaultGrace.
func (h *host) serveStop(r *http.Request) (any, error) {
	req := stopRequest{Grace: DefaultGrace}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	return h.stop(r.Context(), req.Grace)
}

func (h *host) serveRelease(r *http.Request) (any, error) { return nil, h.release(r.Context()) }

// serveRelaunch replaces the agent, and starts a new instance if the request names one.
func (h *host) serveRelaunch(r *http.Request, req relaunchRequest) (any, error) {
	if len(req.Argv) == 0 {
		return nil, fmt.Errorf("%w: no command", errInvalid)
	}
	return nil, h.relaunch(r.Context(), &req)
}

// serveClear serves the request to clear the scrollback. The visible screen does not change.
func (h *host) serveClear(*http.Request) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.display.ClearScrollback()
	h.bumpLocked()
	return nil, nil
}

// serveAgent sets which process is the agent's process.
func (h *host) serveAgent(_ *http.Request, id proc.ID) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agent = id
	go func() { // ends when the agent or the shim exits
		if proc.WaitGone(h.ctx, id) == nil && h.ctx.Err() == nil {
			h.events.publish(Event{Kind: EventAgentEnded, Time: time.Now()})
		}
	}()
	return nil, nil
}

// serveHints replaces the [Hints] in the session's record.
func (h *host) serveHints(_ *http.Request, hints Hints) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	record := h.record
	record.ProcessNames, record.Labels = hints.ProcessNames, hints.Labels
	if err := statedir.WriteJSON(h.dir.Record(), record); err != nil {
		return nil, err
	}
	h.record, h.spec.ProcessNames, h.spec.Labels = record, hints.ProcessNames, hints.Labels
	return nil, nil
}

// The limits of metadata.
const (
	maxMetaKeys  = 256
	maxMetaValue = 64 << 10
)

func (h *host) serveGetMeta(r *http.Request) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	value, set := h.meta[r.FormValue("key")]
	return metaValue{Value: value, Set: set}, nil
}

// serveSetMeta stores one metadata value, within the limits.
func (h *host) serveSetMeta(r *http.Request, v metaValue) (any, error) {
	key := r.FormValue("key")
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.meta[key]; !known && len(h.meta) >= maxMetaKeys {
		return nil, fmt.Errorf("%w: the session has %d metadata keys already, the maximum", errInvalid, maxMetaKeys)
	}
	if len(v.Value) > maxMetaValue || strings.ContainsAny(key, "/\n\x00") {
		return nil, fmt.Errorf("%w: the key has a character that is not allowed, or the value more than %d bytes", errInvalid, maxMetaValue)
	}
	h.meta[key] = v.Value
	return nil, nil
}

func (h *host) serveRemoveMeta(r *http.Request) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.meta, r.FormValue("key"))
	return nil, nil
}
