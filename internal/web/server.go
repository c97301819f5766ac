package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/event"
	"gascity/internal/httpwire"
	"gascity/internal/redact"
	"gascity/internal/retry"
	"gascity/internal/server/controlapi"
	"gascity/internal/server/httpkit"
)

// Options are the inputs of [New]. File, ID, Events, Log, Now and Files are required.
type Options struct {
	File    string // path of the state file
	ID      string // of the city, for the name of the cookie: letters and digits
	Version string
	Events  EventLog
	Log     *slog.Logger
	Secrets *redact.Redactor
	Now     func() time.Time
	// Patience is how long a small body may take. Zero means 10 s.
	Patience time.Duration
	// Files are the files of the page.
	Files fs.FS
	// Sources returns the files of the page from the sources in a directory, for people who change it. Nil means that this is not
	// supported.
	Sources func(dir string) (fs.FS, error)
	// Start makes the page that of a person without a city; see [Server.StartRoutes].
	Start bool
	// Push is what the web console needs to offer notifications. Nil means that it does not offer them.
	Push *Push
	// Terminal serves a terminal over a WebSocket, after all checks. It returns when ctx ends: the
	// device was signed out, or the server stops. Nil means that there are no terminals.
	Terminal func(ctx context.Context, w http.ResponseWriter, r *http.Request, g Grant)
	// Answer answers a question with the token of an answer button, see package answers. Nil means
	// that there are no answer buttons.
	Answer func(ctx context.Context, token string) (client.Pending, error)
}

// EventLog stores the events of the web console.
type EventLog interface {
	// Append stores an event; see [event.Log].
	Append(ctx context.Context, e client.Event) (client.Event, error)
}

// Settings are the section [web] of city.toml.
type Settings struct {
	Enabled           bool
	Listen            string
	Hosts             []string
	CertFile, KeyFile string // absolute paths; both or none
}

// Server is the web console of one city. It is off until [Server.Begin] or [Server.StartWeb] starts
// its listener. It is safe for concurrent use.
type Server struct {
	opts    Options
	devices *registry
	codes   once[client.Scope]
	tickets once[ticket]
	big     chan struct{} // one element for each large body

	// change serializes starts and stops of the listener. It is locked before mu.
	change sync.Mutex
	work   sync.WaitGroup // changes in the background

	mu       sync.Mutex
	life     context.Context      //nolint:containedctx // of changes in the background; set by Begin; guarded by mu
	routes   []controlapi.Mounted // guarded by mu
	settings Settings             // guarded by mu
	begun    bool                 // guarded by mu
	closed   bool                 // guarded by mu
	running  *listening           // nil: off; guarded by mu
	fault    error                // why it is off although it is to be on; guarded by mu
	dev      string               // directory with the sources that are served; empty: Options.Files; guarded by mu
	wrong    retry.Bucket         // wrong codes; guarded by mu
	others   retry.Bucket         // requests without a device; guarded by mu
}

var _ controlapi.WebConsole = (*Server)(nil)

// listening is the listener while it runs.
type listening struct {
	address  string // where it listens
	asked    Settings
	dev      string // directory with the sources of the page; empty: none
	files    *files
	scheme   string // http or https
	hosts    hosts
	url      string // of the listener, on this machine
	stop     context.CancelFunc
	done     chan struct{}
	terminal sync.WaitGroup // open terminals: net/http does not wait for them
}

// The numbers of codes and tickets at a time.
const (
	maxCodes   = 16
	maxTickets = 1024
)

// New returns the web console of a city. It starts nothing. If the state file is damaged, all
// devices are signed out and the log says so.
func New(opts Options) *Server {
	opts.Log = newLimitedLog(opts.Log, opts.Now)
	devices, err := openRegistry(opts.File, opts.Now)
	if err != nil {
		opts.Log.Error(err.Error())
	}
	if opts.Push != nil {
		if err := devices.offerPush(opts.Push); err != nil {
			opts.Log.Error(err.Error())
		}
	}
	return &Server{opts: opts, devices: devices, codes: once[client.Scope]{limit: maxCodes}, tickets: once[ticket]{limit: maxTickets}, big: make(chan struct{}, bigBodies)}
}

// Configure sets the configuration. After [Server.Begin] it starts the listener if the configuration
// wants it, and restarts it if the configuration changes it. It does not wait for that.
func (s *Server) Configure(next Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.settings
	s.settings = next
	if !s.begun || s.closed || equalSettings(was, next) {
		return
	}
	ctx := s.life
	s.work.Go(func() { s.follow(ctx, was) })
}

func equalSettings(a, b Settings) bool {
	return a.Enabled == b.Enabled && a.Listen == b.Listen && a.CertFile == b.CertFile && a.KeyFile == b.KeyFile && slices.Equal(a.Hosts, b.Hosts)
}

// follow makes the listener match the configuration after a change.
func (s *Server) follow(ctx context.Context, was Settings) {
	s.change.Lock()
	defer s.change.Unlock()
	s.mu.Lock()
	next, running := s.settings, s.running != nil
	s.mu.Unlock()
	switch {
	case !next.Enabled && was.Enabled && !s.isOn():
		s.stopLocked(ctx)
	case next.Enabled || running:
		if err := s.startLocked(ctx, next.Listen); err != nil {
			s.report(ctx, err)
		}
	}
}

// Begin sets the routes of the control API, and starts the listener if it is to run: because of the
// configuration, or because it ran when the last controller exited. An error is reported as an
// event: the city works without its web console.
func (s *Server) Begin(ctx context.Context, routes []controlapi.Mounted) {
	s.change.Lock()
	defer s.change.Unlock()
	s.mu.Lock()
	s.life, s.routes, s.begun = context.WithoutCancel(ctx), routes, true
	enabled, listen := s.settings.Enabled, s.settings.Listen
	s.mu.Unlock()
	if !enabled && !s.isOn() {
		return
	}
	if err := s.startLocked(ctx, listen); err != nil {
		s.report(ctx, err)
	}
}

// report records why the listener is off although it is to be on.
func (s *Server) report(ctx context.Context, err error) {
	s.opts.Log.Error("the web console cannot be started", "error", err)
	s.mu.Lock()
	s.fault = err
	s.mu.Unlock()
	s.emit(ctx, event.WebFailed, "the web console cannot be started: "+err.Error(), map[string]string{"error": err.Error()})
}

// Stop begins to stop the listener, for good. It does not wait.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.running != nil {
		s.running.stop()
	}
}

// Close stops the listener for good and waits for its end.
func (s *Server) Close() {
	s.Stop()
	s.work.Wait()
	s.change.Lock()
	defer s.change.Unlock()
	if run := s.current(); run != nil {
		<-run.done
	}
}

// current returns the listener, or nil if there is none.
func (s *Server) current() *listening {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// Web implements controlapi.WebConsole.
func (s *Server) Web(context.Context) (client.Web, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		var out client.Web
		if s.fault != nil {
			out.Error = s.fault.Error()
		}
		return out, nil
	}
	return client.Web{Running: true, URL: s.running.url + "/", URLs: s.running.hosts.urls(s.running.url), Dev: s.running.dev}, nil
}

// StartWeb implements controlapi.WebConsole.
func (s *Server) StartWeb(ctx context.Context, req client.WebRequest) (client.Web, error) {
	s.change.Lock()
	defer s.change.Unlock()
	s.mu.Lock()
	listen := cmp.Or(req.Listen, s.settings.Listen)
	if run := s.running; run != nil && req.Listen == "" {
		listen = run.address // it stays where it is
	}
	before := s.dev
	s.dev = cmp.Or(req.Dev, s.dev)
	s.mu.Unlock()
	if err := s.startLocked(ctx, listen); err != nil {
		s.mu.Lock()
		s.dev = before
		s.mu.Unlock()
		return client.Web{}, err
	}
	if err := s.devices.setListener(true, ""); err != nil {
		return client.Web{}, err
	}
	return s.Web(ctx)
}

// StopWeb implements controlapi.WebConsole.
func (s *Server) StopWeb(ctx context.Context) (client.Web, error) {
	s.change.Lock()
	defer s.change.Unlock()
	if err := s.devices.setListener(false, ""); err != nil {
		return client.Web{}, err
	}
	s.mu.Lock()
	s.dev = "" // the next start serves the pages of the binary
	s.mu.Unlock()
	s.stopLocked(ctx)
	return s.Web(ctx)
}

// checkDev returns the files of the page from the sources in the directory dev; if dev is empty, those of the binary. It refuses
// dev if other hosts can reach the listener: a program that can change the checkout could change what all devices run.
func (s *Server) checkDev(dev, listen string, hosts []string) (*files, error) {
	switch host, _, err := net.SplitHostPort(listen); {
	case dev == "":
		return &files{from: s.opts.Files}, nil
	case s.opts.Sources == nil:
		return nil, fmt.Errorf("%w: this server has no development mode", client.ErrUnsupported)
	case !filepath.IsAbs(dev):
		return nil, fmt.Errorf("%w: %q is not an absolute path", client.ErrInvalid, dev)
	case err != nil || !config.IsLoopback(host):
		return nil, fmt.Errorf("%w: other hosts can reach %s, and the pages of a checkout are only for this machine; use --listen 127.0.0.1:0, or restart the web console without --dev (gc web stop, then gc web)", client.ErrInvalid, listen)
	case len(hosts) > 0:
		return nil, fmt.Errorf("%w: hosts in [web] of city.toml lets other hosts reach the web console, and the pages of a checkout are only for this machine; remove hosts, or restart the web console without --dev (gc web stop, then gc web)", client.ErrInvalid)
	}
	from, err := s.opts.Sources(dev)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	return &files{from: from, changes: true}, nil
}

// stopLocked stops the listener and waits for its end. s.change is locked.
func (s *Server) stopLocked(ctx context.Context) {
	run := s.current()
	if run == nil {
		return
	}
	run.stop()
	<-run.done
	s.mu.Lock()
	s.running = nil
	s.mu.Unlock()
	s.emit(ctx, event.WebStopped, "the web console is off", nil)
}

// defaultListen is the address without a configured one: any free port. The port is saved.
const defaultListen = "127.0.0.1:0"

// startLocked starts the listener at an address, or moves it there. An empty address is the last
// one. s.change is locked.
func (s *Server) startLocked(ctx context.Context, listen string) error {
	_, last := s.devices.listener()
	s.mu.Lock()
	asked, run, dev := s.settings, s.running, s.dev
	s.mu.Unlock()
	moved := listen != ""
	listen = cmp.Or(listen, last, defaultListen)
	if run != nil && (listen == run.address || !moved || sameAddress(listen, run.address)) && equalListeners(run.asked, asked) && run.dev == dev {
		return nil
	}
	pages, err := s.checkDev(dev, listen, asked.Hosts)
	if err != nil {
		return err
	}
	pair, err := openCertificate(asked.CertFile, asked.KeyFile)
	if err != nil {
		return err
	}
	if pair == nil {
		if err := checkPrivate(listen); err != nil {
			return err
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if run != nil && errors.Is(err, syscall.EADDRINUSE) && samePort(listen, run.address) { // the listener itself has the port
		s.stopLocked(ctx)
		l, err = new(net.ListenConfig).Listen(ctx, "tcp", listen)
	}
	if listen == last && errors.Is(err, syscall.EADDRINUSE) {
		s.revokeAll(ctx)
		if !moved {
			l, err = new(net.ListenConfig).Listen(ctx, "tcp", defaultListen)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: cannot listen on %s: %w; choose another address: gc web --listen 127.0.0.1:0", client.ErrRefused, listen, err)
	}
	s.stopLocked(ctx) // only now, so that an address that cannot be used does not turn the web console off
	return s.serve(ctx, l, pair, &listening{asked: asked, dev: dev, files: pages})
}

// revokeAll signs all devices out: another program has the port of their page, so their browsers may
// have sent it their cookies, and it can show a page that reads their keys.
func (s *Server) revokeAll(ctx context.Context) {
	for _, d := range s.devices.list() {
		if _, err := s.signOut(d.ID); err != nil {
			s.opts.Log.Error(err.Error())
		}
		s.emit(ctx, event.WebDeviceRevoked, "another program has the port of the web console, so the device "+d.Name+" was signed out", map[string]string{"device": d.ID, "name": d.Name})
	}
}

// equalListeners reports whether two configurations have the same listener. [Settings].Listen is
// compared by its caller.
func equalListeners(a, b Settings) bool {
	a.Enabled, a.Listen, b.Enabled, b.Listen = false, "", false, ""
	return equalSettings(a, b)
}

// sameAddress reports whether a listener with the address running also has the address asked, whose
// port may be 0 for any port.
func sameAddress(asked, running string) bool {
	host, port, err := net.SplitHostPort(asked)
	runningHost, _, bad := net.SplitHostPort(running)
	return err == nil && bad == nil && port == "0" && host == runningHost
}

// samePort reports whether two addresses have the same port.
func samePort(a, b string) bool {
	_, portA, errA := net.SplitHostPort(a)
	_, portB, errB := net.SplitHostPort(b)
	return errA == nil && errB == nil && portA == portB
}

// checkPrivate refuses an address that other hosts can reach: without a certificate everybody in
// between could read the sign-in.
func checkPrivate(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("%w: %q is not an address; write it like 127.0.0.1:8420", client.ErrInvalid, listen)
	}
	if config.IsLoopback(host) {
		return nil
	}
	return fmt.Errorf("%w: other hosts can reach %s, and without a certificate others could read what is sent; set cert_file and key_file in [web] of city.toml, or listen on 127.0.0.1 behind a proxy", client.ErrInvalid, listen)
}

// serve runs the listener in a goroutine, which [Server.stopLocked] and [Server.Close] wait for. It sets the fields of run that depend on
// the listener.
func (s *Server) serve(ctx context.Context, l net.Listener, pair *certificate, run *listening) error {
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return errors.Join(fmt.Errorf("%s is not a TCP address", l.Addr()), l.Close())
	}
	scheme := "http"
	if pair != nil {
		scheme = "https"
	}
	known, err := hostsOf(addr, scheme, run.asked.Hosts)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	local := *addr
	if local.IP.IsUnspecified() {
		local.IP = net.IPv4(127, 0, 0, 1)
	}
	run.address, run.scheme, run.hosts, run.url, run.done = addr.String(), scheme, known, known[local.String()], make(chan struct{})
	var serving context.Context
	serving, run.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		run.stop()
		return errors.Join(errStopping, l.Close())
	}
	handler := s.handler(run, s.routes)
	s.running, s.fault = run, nil
	s.mu.Unlock()
	var bounded net.Listener = newBoundedListener(l)
	if pair != nil {
		bounded = tls.NewListener(bounded, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: pair.get})
	}
	go func() {
		defer close(run.done)
		defer run.stop()
		err := httpkit.Service{Name: "web console", Handler: handler, Log: s.opts.Log, Connect: withConn}.Run(serving, bounded)
		run.terminal.Wait()
		if err != nil {
			s.opts.Log.Error(err.Error())
		}
	}()
	if err := s.devices.setListener(s.isOn(), run.address); err != nil {
		s.opts.Log.Error(err.Error())
	}
	text := "the web console is on: " + run.url + "/"
	if run.dev != "" {
		text += ", with the pages in " + run.dev
	}
	s.emit(ctx, event.WebStarted, text, map[string]string{"url": run.url + "/"})
	return nil
}

// isOn returns whether the listener was requested by [Server.StartWeb].
func (s *Server) isOn() bool {
	on, _ := s.devices.listener()
	return on
}

var errStopping = fmt.Errorf("%w: the controller is stopping", client.ErrUnavailable)

// api returns the part of the server that all of gc's servers have in common.
func (s *Server) api() *httpkit.API {
	return httpkit.New(httpkit.API{
		Options: httpkit.Options{Version: s.opts.Version, Log: s.opts.Log, Secrets: s.opts.Secrets},
		Name:    "web console", Service: "web console", Challenge: "Gc-Web",
		Problem:   func(err error) httpwire.Problem { return httpwire.Problem(*client.ProblemOf(err)) },
		Forbidden: client.ErrForbidden, NotFound: client.ErrNotFound, Ending: errStopping,
	})
}

// NewWebCode implements controlapi.WebConsole.
func (s *Server) NewWebCode(ctx context.Context, req client.WebCodeRequest) (client.WebCode, error) {
	run := s.current()
	if run == nil {
		return client.WebCode{}, fmt.Errorf("%w: the web console is off; start it: gc web", client.ErrRefused)
	}
	base, err := run.link(req.Host)
	if err != nil {
		return client.WebCode{}, err
	}
	scope := cmp.Or(req.Scope, client.ScopeManage)
	code, expires := s.codes.issue(scope, s.opts.Now())
	s.emit(ctx, event.WebCodeMade, "a code for the web console was made", map[string]string{"scope": string(scope)})
	return client.WebCode{Code: code, Link: base + "/#code=" + code, Scope: scope, Expires: expires}, nil
}

// link returns the origin for links: that of the host or, without one, of the listener.
func (l *listening) link(host string) (string, error) {
	if host == "" {
		return l.url, nil
	}
	named, _, err := parseHost(host, l.scheme)
	if err != nil {
		return "", err
	}
	origin, ok := l.hosts[named]
	if !ok {
		return "", fmt.Errorf("%w: the web console does not answer to %q; add it to hosts in [web] of city.toml", client.ErrInvalid, host)
	}
	return origin, nil
}

// WebDevices implements controlapi.WebConsole.
func (s *Server) WebDevices(context.Context) ([]client.WebDevice, error) {
	return s.devices.list(), nil
}

// RevokeWebDevice implements controlapi.WebConsole.
func (s *Server) RevokeWebDevice(ctx context.Context, id string) (client.WebDevice, error) {
	device, err := s.signOut(id)
	if device.ID != "" {
		s.emit(ctx, event.WebDeviceRevoked, "the device "+device.Name+" was signed out", map[string]string{"device": device.ID, "name": device.Name})
	}
	return device, err
}

// signOut removes a device with its tickets.
func (s *Server) signOut(id string) (client.WebDevice, error) {
	s.tickets.removeIf(func(t ticket) bool { return t.device == id })
	return s.devices.remove(id)
}

// emit appends an event. If that fails, it logs the error.
func (s *Server) emit(ctx context.Context, kind event.Kind, text string, data map[string]string) {
	if err := s.record(ctx, kind, text, data); err != nil {
		s.opts.Log.Error("cannot append an event of the web console", "kind", kind, "error", err)
	}
}

// record appends an event.
func (s *Server) record(ctx context.Context, kind event.Kind, text string, data map[string]string) error {
	_, err := s.opts.Events.Append(context.WithoutCancel(ctx), client.Event{Kind: string(kind), Text: text, Data: data})
	return err
}
