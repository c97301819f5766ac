// Package server is the tmux server of one city: its socket, its configuration, who its
// clients are, and what it says of the panes that are ours. It knows neither agents nor
// records: what may be done to a pane is the driver's to say.
package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"gascity/internal/statedir"
	"gascity/internal/tmux/control"
)

const (
	// Hub is the session of the control client. No session of the contract can have
	// this name.
	Hub = "~gc"
	// Cols is the width of a session without an attached client.
	Cols = 200
	// Rows is the height of such a session.
	Rows = 50
	// scrollback is how many lines are kept above the screen.
	scrollback = 10_000
	// maxSocketPath is what every system allows, without the final NUL.
	maxSocketPath = 103
)

// Config says where the server is. All is required.
type Config struct {
	// Dir is the private folder of the configuration, and of the socket unless that is an
	// absolute path.
	Dir, Socket string
	// Binary is the program, a name in PATH of Environ or a path.
	Binary string
	// Env is the base environment of agents: what a program needs to run at all goes to
	// the server.
	Env, Environ []string
	Logger       *slog.Logger
}

// Server is the city's tmux server, which need not run. It is safe for concurrent use.
type Server struct {
	cfg        Config
	ctl        *control.Client
	socket     string
	socketDirs []string // folders outside of Dir that the socket is in, outermost first
	conf       string
	env        []string // of the server: no secret is in it, panes inherit it
	sessions   sessionList
	// searched: a server without its socket was searched for.
	searched atomic.Bool
}

// Open makes Dir. It starts no server.
func Open(cfg Config) (*Server, error) {
	if err := statedir.MakePrivate(cfg.Dir); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	socket, away, err := socketPath(dir, cfg.Socket)
	if err != nil {
		return nil, err
	}
	for _, dir := range away {
		if statedir.NotExists(dir) {
			break // Start makes them
		}
		if err := statedir.MakePrivate(dir); err != nil {
			return nil, err
		}
	}
	s := &Server{cfg: cfg, socket: socket, socketDirs: away, conf: filepath.Join(dir, "tmux.conf"), env: serverEnv(cfg.Env)}
	s.ctl, err = control.New(control.Options{
		Socket: socket, Binary: cfg.Binary, Path: Value(cfg.Environ, "PATH"), Config: s.conf, Env: s.env,
		Hub: Hub, Width: Cols, Height: Rows, Logger: cfg.Logger,
	})
	return s, err
}

// Client returns the control client.
func (s *Server) Client() *control.Client { return s.ctl }

// Socket returns the path of the server's socket.
func (s *Server) Socket() string { return s.socket }

// Env returns the server's own environment, which its panes inherit.
func (s *Server) Env() []string { return s.env }

// socketPath is in the folder, or, where that is too long for a socket, in private folders of
// the user's that follow from it.
func socketPath(dir, name string) (path string, away []string, err error) {
	path = name
	if !filepath.IsAbs(name) {
		if name != filepath.Base(name) || name == "." || name == ".." {
			return "", nil, fmt.Errorf("a tmux socket cannot be called %q: choose a name without slashes, or an absolute path", name)
		}
		path = filepath.Join(dir, name)
	}
	if len(path) <= maxSocketPath {
		return path, nil, nil
	}
	sum := sha256.Sum256([]byte(path))
	short := filepath.Join(os.TempDir(), fmt.Sprintf("gc-tmux-%d", os.Getuid()))
	if len(short) > maxSocketPath-20 {
		short = fmt.Sprintf("/tmp/gc-tmux-%d", os.Getuid())
	}
	own := filepath.Join(short, hex.EncodeToString(sum[:8]))
	return filepath.Join(own, "s"), []string{short, own}, nil
}

// inherited are the variables that the server gets from the base environment: what a
// program needs to run at all, and nothing that could be a secret.
var inherited = []string{"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TERMINFO", "TERMINFO_DIRS", "TZ"}

func serverEnv(base []string) []string {
	var env []string
	for _, name := range inherited {
		if v := Value(base, name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Value returns a variable of an environment; the first entry counts.
func Value(env []string, name string) string {
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			return v
		}
	}
	return ""
}

// configured calls do with the configuration written, one process and goroutine after the
// other.
func (s *Server) configured(ctx context.Context, do func() error) error {
	if err := statedir.MakePrivate(filepath.Dir(s.conf)); err != nil {
		return err
	}
	var lock *os.File
	err := Retry(ctx, func() (err error) { lock, err = TryLock(s.lock()); return err }, ErrLocked)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := statedir.WriteFile(s.conf, []byte(s.configuration())); err != nil {
		return err
	}
	return do()
}

func (s *Server) lock() string { return filepath.Join(filepath.Dir(s.conf), "server.lock") }

// ErrLocked reports a lock that somebody else has.
var ErrLocked = errors.New("another process has the lock")

// TryLock takes the lock of a file, which it makes. Its holder may remove the file; closing
// gives it back.
func TryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = statedir.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && statedir.SameFile(file, path) { // else who had the lock removed it
		return file, nil
	}
	_ = file.Close() // nothing was written
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	return nil, err
}

// Start takes up the server or starts it. Two that start one at once would have one each.
func (s *Server) Start(ctx context.Context) error {
	if _, _, known := s.ctl.Server(); known {
		if _, err := s.ctl.Start(ctx); err == nil {
			return nil
		}
	}
	err := s.configured(ctx, func() error {
		for _, dir := range s.socketDirs {
			if err := statedir.MakePrivate(dir); err != nil {
				return err
			}
		}
		if err := s.RestoreSocket(ctx); err != nil {
			return err // never a second server
		}
		_, err := s.ctl.Start(ctx)
		return err
	})
	if errors.Is(err, control.ErrNoTmux) || errors.Is(err, control.ErrTooOld) {
		return fmt.Errorf("%w; install it, or choose the provider that needs nothing: session provider \"pty\"", err)
	}
	return err
}

// Do sends commands to the server that runs. After a loss it takes up another one that
// somebody may have started. Without a server the error matches [control.ErrNoServer].
func (s *Server) Do(ctx context.Context, commands ...control.Command) ([]control.Reply, error) {
	replies, err := s.ctl.Do(ctx, commands...)
	for try := 0; err != nil && try < 3; try++ {
		switch {
		case errors.Is(err, control.ErrServerLost):
			if _, err := s.ctl.Attach(ctx); err != nil {
				return nil, err
			}
		case errors.Is(err, control.ErrInterrupted) && ctx.Err() == nil && try == 0 && reads(commands):
		case errors.Is(err, control.ErrNoServer) && statedir.NotExists(s.socket) && s.shouldSearch():
			if err := s.RestoreSocket(ctx); err != nil {
				return nil, err
			}
			if statedir.NotExists(s.socket) {
				return replies, err
			}
		case errors.Is(err, control.ErrNoTmux) && statedir.NotExists(s.socket):
			return nil, fmt.Errorf("%w at %s", control.ErrNoServer, s.socket) // nor is there a program to ask it with
		default:
			return replies, err
		}
		replies, err = s.ctl.Do(ctx, commands...)
	}
	return replies, err
}

// Query is Do for one command that changes nothing.
func (s *Server) Query(ctx context.Context, command control.Command) (control.Reply, error) {
	replies, err := s.Do(ctx, command)
	if len(replies) == 0 {
		return control.Reply{}, err
	}
	return replies[0], err
}

// Absent reports whether err says for certain that there is no server.
func Absent(err error) bool { return errors.Is(err, control.ErrNoServer) }

// reads reports whether the commands may be sent twice.
func reads(commands []control.Command) bool {
	for _, c := range commands {
		line, err := c.Line()
		if err != nil || !strings.HasPrefix(line, "display-message") && !strings.HasPrefix(line, "list-") && !strings.HasPrefix(line, "capture-pane") {
			return false
		}
	}
	return true
}

// IgnoreLoss drops errors which say that the server has ended.
func IgnoreLoss(err error) error {
	for _, lost := range []error{control.ErrServerLost, control.ErrNoServer, control.ErrInterrupted} {
		if errors.Is(err, lost) {
			return nil
		}
	}
	return err
}

// Configure applies the present configuration to a server that runs.
func (s *Server) Configure(ctx context.Context) error {
	return s.configured(ctx, func() error {
		_, err := s.Do(ctx, control.Cmd("source-file", s.conf))
		return err
	})
}

// Shutdown ends the server with all that runs in it, and waits until it has ended.
func (s *Server) Shutdown(ctx context.Context) error {
	_, err := s.Do(ctx, control.Cmd("display-message", "-p", ".")) // which takes up one that runs
	server, _, known := s.ctl.Server()
	if err == nil {
		s.ctl.ExpectLoss()
		_, err = s.Do(ctx, control.Cmd("kill-server"))
	}
	err = IgnoreLoss(err)
	if err == nil && known {
		err = s.awaitServer(ctx, server.PID)
	}
	if err == nil {
		_, lost := s.ctl.Do(ctx, control.Cmd("display-message", "-p", ".")) // which fails once the client has noticed
		err = IgnoreLoss(lost)
	}
	return err
}

// Retire ends the server if no session but the hub is in it, and removes its files. The server itself
// looks and ends in one step, so that a session that begins meanwhile is safe: it is there before, or its
// start finds no server. ended is false if it goes on, or if there is none.
func (s *Server) Retire(ctx context.Context) (ended bool, err error) {
	if _, err = s.Do(ctx, control.Cmd("display-message", "-p", ".")); err != nil { // which takes up one that runs
		if Absent(err) {
			err = nil
		}
		return false, err
	}
	server, _, known := s.ctl.Server()
	if !known {
		return false, nil
	}
	const stays = "stays"
	alone := "#{==:#{S:x},x}" // one x for each session
	reply, err := s.Query(ctx, control.If("", alone, control.Command{}, control.Cmd("display-message", "-p", stays)))
	if err != nil || string(reply.Output) == stays {
		return false, IgnoreLoss(err)
	}
	s.ctl.ExpectLoss()
	replies, err := s.ctl.Do(ctx, control.If("", alone, control.Cmd("kill-server"), control.Cmd("display-message", "-p", stays)))
	if err == nil && string(replies[0].Output) == stays {
		return false, nil
	}
	if err = IgnoreLoss(err); err != nil {
		return false, err
	}
	if err := s.awaitServer(ctx, server.PID); err != nil {
		return false, err
	}
	return true, s.RemoveFiles(ctx)
}

// RemoveFiles removes all files of a server, if none runs.
func (s *Server) RemoveFiles(ctx context.Context) error {
	return s.configured(ctx, func() error { // no other start runs meanwhile
		if !statedir.NotExists(s.socket) {
			if _, err := s.ctl.Attach(ctx); !Absent(err) {
				return err
			}
		}
		for _, file := range []string{s.socket, control.Lock(s.socket), s.conf, s.lock()} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		for _, dir := range slices.Backward(s.socketDirs) {
			_ = os.Remove(dir) // others may have theirs in it
		}
		return nil
	})
}

// lockRetry is how often a lock is tried that somebody has.
const lockRetry = 5 * time.Millisecond

// Retry calls try until its error is another one than busy.
func Retry(ctx context.Context, try func() error, busy error) error {
	err := try()
	if !errors.Is(err, busy) {
		return err // which is what nearly always happens
	}
	tick := time.NewTicker(lockRetry)
	defer tick.Stop()
	for ; errors.Is(err, busy); err = try() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return err
}
