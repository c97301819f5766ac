package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"gascity/internal/fsutil"
	"gascity/internal/proc"
	"gascity/internal/retry"
	"gascity/internal/statedir"
)

const (
	// hub is the tmux session of the control client. The name is not a valid name of a runtime session. The client
	// receives the output of windows that are linked into it (link-window -d -s SOURCE -t "=HUB:").
	hub = "~gc"
	// defaultCols is the width of a session without an attached client.
	defaultCols = 200
	// defaultRows is the height of such a session.
	defaultRows = 50
	// scrollback is the number of lines that are kept above the screen.
	scrollback = 10_000
)

// tmuxServer controls the city's tmux server, which may be running or not. It is safe for concurrent use.
type tmuxServer struct {
	cfg        Config
	client     *controlClient
	socket     string
	socketDirs []string // the socket's directories outside Dir, outermost first
	conf       string
	env        []string // the environment of the server; panes inherit it, so it contains no secret
	sessions   sessionList
	// searched reports that this process has searched for a server whose socket is missing.
	searched atomic.Bool
}

// openServer creates cfg.Dir and returns a tmuxServer. It starts no tmux server. Of cfg it uses Dir, Socket, Binary, Env, Environ
// and Logger, which must be set.
func openServer(cfg Config) (*tmuxServer, error) {
	if err := statedir.MakePrivate(cfg.Dir); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	socket, socketDirs, err := socketPath(dir, cfg.Socket)
	if err != nil {
		return nil, err
	}
	for _, dir := range socketDirs {
		if statedir.NotExists(dir) {
			break // Start creates them
		}
		if err := statedir.MakePrivate(dir); err != nil {
			return nil, err
		}
	}
	s := &tmuxServer{cfg: cfg, socket: socket, socketDirs: socketDirs, conf: filepath.Join(dir, "tmux.conf"), env: serverEnv(cfg.Env)}
	s.client, err = newControlClient(clientOptions{
		Socket: socket, Binary: cfg.Binary, Path: proc.Getenv(cfg.Environ, "PATH"), Config: s.conf, Env: s.env, Logger: cfg.Logger,
	})
	return s, err
}

// socketPath returns the path of the socket. The socket is in dir. If that path is too long for a socket, the socket
// is in a private directory of the user below the directory for temporary files; its name is derived from the long
// path, and socketDirs are the directories to create.
func socketPath(dir, name string) (path string, socketDirs []string, err error) {
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

// inherited are the names of the variables that the server gets from the base environment. Every program needs them,
// and they contain no secrets.
var inherited = []string{"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TERMINFO", "TERMINFO_DIRS", "TZ"}

// serverEnv returns the environment of the server: the inherited variables of base.
func serverEnv(base []string) []string {
	var env []string
	for _, name := range inherited {
		if v := proc.Getenv(base, name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// withConfiguration writes tmux's configuration file and then calls do, which starts the server. It holds the server lock
// during both, so only one process and goroutine at a time does this.
func (s *tmuxServer) withConfiguration(ctx context.Context, do func() error) error {
	if err := statedir.MakePrivate(filepath.Dir(s.conf)); err != nil {
		return err
	}
	var lock *os.File
	err := retryBusy(ctx, func() (err error) { lock, err = tryLock(s.lock()); return err })
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := statedir.WriteFile(s.conf, []byte(s.configuration())); err != nil {
		return err
	}
	return do()
}

// lock returns the path of the server lock.
func (s *tmuxServer) lock() string { return filepath.Join(filepath.Dir(s.conf), "server.lock") }

// tryLock creates the file if necessary and locks it without waiting. It returns [statedir.ErrLocked] if the lock is held.
// Closing the file releases the lock. The holder may remove the file.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = fsutil.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && statedir.SameFile(file, path) { // otherwise the previous holder has removed the file
		return file, nil
	}
	_ = file.Close() // nothing was written
	if err == nil || errors.Is(err, syscall.EWOULDBLOCK) {
		err = statedir.ErrLocked
	}
	return nil, err
}

// Start connects to the server, and starts it if it does not run. The server lock prevents two processes from
// starting a server each.
func (s *tmuxServer) Start(ctx context.Context) error {
	if _, _, known := s.client.Server(); known {
		if _, err := s.client.Start(ctx); err == nil {
			return nil
		}
	}
	err := s.withConfiguration(ctx, func() error {
		for _, dir := range s.socketDirs {
			if err := statedir.MakePrivate(dir); err != nil {
				return err
			}
		}
		if err := s.restoreSocket(ctx); err != nil {
			return err // do not start a second server
		}
		_, err := s.client.Start(ctx)
		return err
	})
	if errors.Is(err, errNoTmux) || errors.Is(err, errTooOld) {
		return fmt.Errorf("%w; install tmux, or use the session provider \"pty\", which needs no program", err)
	}
	return err
}

// Query sends a command to the running server and returns its reply. If the known server is lost, Query connects to
// another one that may have been started. If the socket is missing, Query once searches for a server that runs without
// it. The error matches [errNoServer] if no server runs.
func (s *tmuxServer) Query(ctx context.Context, command tmuxCommand) (tmuxReply, error) {
	return s.query(ctx, s.RestoreSocket, command)
}

// query is Query with the function that restores a missing socket.
func (s *tmuxServer) query(ctx context.Context, restore func(context.Context) error, command tmuxCommand) (tmuxReply, error) {
	reply, err := s.client.Do(ctx, command)
	for try := 0; err != nil && try < 3; try++ {
		switch {
		case errors.Is(err, errServerLost):
			if _, err := s.client.Attach(ctx); err != nil {
				return tmuxReply{}, err
			}
		case errors.Is(err, errInterrupted) && ctx.Err() == nil && try == 0 && isReadOnly(command):
		case errors.Is(err, errNoServer) && statedir.NotExists(s.socket) && s.shouldSearch():
			if err := restore(ctx); err != nil {
				return tmuxReply{}, err
			}
			if statedir.NotExists(s.socket) {
				return reply, err
			}
		case errors.Is(err, errNoTmux) && statedir.NotExists(s.socket):
			return tmuxReply{}, fmt.Errorf("%w at %s", errNoServer, s.socket) // without a socket there is no server to query
		default:
			return reply, err
		}
		reply, err = s.client.Do(ctx, command)
	}
	return reply, err
}

// isAbsent reports whether err means that certainly no server runs.
func isAbsent(err error) bool { return errors.Is(err, errNoServer) }

// isReadOnly reports whether the command changes nothing, so it may be sent twice.
func isReadOnly(command tmuxCommand) bool {
	line, err := command.Line()
	return err == nil && slices.ContainsFunc([]string{"display-message", "list-", "capture-pane"}, func(begin string) bool { return strings.HasPrefix(line, begin) })
}

// ignoreLoss returns nil for an error that means that the server has ended or the connection broke. It returns other
// errors unchanged.
func ignoreLoss(err error) error {
	for _, lost := range []error{errServerLost, errNoServer, errInterrupted} {
		if errors.Is(err, lost) {
			return nil
		}
	}
	return err
}

// Configure applies the current configuration to the running server.
func (s *tmuxServer) Configure(ctx context.Context) error {
	return s.withConfiguration(ctx, func() error {
		_, err := s.query(ctx, s.restoreSocket, cmd("source-file", s.conf))
		return err
	})
}

// Shutdown stops the server with all programs in it, and waits until the server has exited.
func (s *tmuxServer) Shutdown(ctx context.Context) error {
	_, err := s.Query(ctx, cmd("display-message", "-p", ".")) // connects to a running server
	server, _, known := s.client.Server()
	if err == nil {
		s.client.ExpectLoss()
		_, err = s.Query(ctx, cmd("kill-server"))
	}
	err = ignoreLoss(err)
	if err == nil && known {
		err = s.awaitServer(ctx, server.PID)
	}
	if err == nil {
		_, lost := s.client.Do(ctx, cmd("display-message", "-p", ".")) // fails when the client has noticed the exit
		err = ignoreLoss(lost)
	}
	return err
}

// Retire stops the server if it has no session except the hub, and removes its files. The server itself checks and
// exits in one step, so Retire never stops a session that is started at the same time. ended is false if the server
// continues to run or did not run.
func (s *tmuxServer) Retire(ctx context.Context) (ended bool, err error) {
	if _, err = s.Query(ctx, cmd("display-message", "-p", ".")); err != nil { // connects to a running server
		if isAbsent(err) {
			err = nil
		}
		return false, err
	}
	server, _, known := s.client.Server()
	if !known {
		return false, nil
	}
	const stays = "stays"
	alone := "#{==:#{S:x},x}" // one x for each session
	reply, err := s.Query(ctx, ifFormat("", alone, tmuxCommand{}, cmd("display-message", "-p", stays)))
	if err != nil || string(reply.Output) == stays {
		return false, ignoreLoss(err)
	}
	s.client.ExpectLoss()
	stayed, err := s.client.Do(ctx, ifFormat("", alone, cmd("kill-server"), cmd("display-message", "-p", stays)))
	if err == nil && string(stayed.Output) == stays {
		return false, nil
	}
	if err = ignoreLoss(err); err != nil {
		return false, err
	}
	if err := s.awaitServer(ctx, server.PID); err != nil {
		return false, err
	}
	return true, s.RemoveFiles(ctx)
}

// RemoveFiles removes all files of the server, unless a server runs. It does nothing and returns nil if one runs.
func (s *tmuxServer) RemoveFiles(ctx context.Context) error {
	return s.withConfiguration(ctx, func() error { // the lock prevents a start meanwhile
		if !statedir.NotExists(s.socket) {
			if _, err := s.client.Attach(ctx); !isAbsent(err) {
				return err
			}
		}
		for _, file := range []string{s.socket, lockPath(s.socket), s.conf, s.lock()} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		for _, dir := range slices.Backward(s.socketDirs) {
			_ = os.Remove(dir) // fails if it contains sockets of other cities
		}
		return nil
	})
}

// lockRetry is the interval between attempts to acquire a lock.
const lockRetry = 5 * time.Millisecond

// retryBusy calls try until its error does not match [statedir.ErrLocked], and returns the last result. It returns the cause of ctx
// if ctx ends first.
func retryBusy(ctx context.Context, try func() error) error {
	err := try()
	for ; errors.Is(err, statedir.ErrLocked); err = try() {
		if !retry.Sleep(ctx, lockRetry) {
			return context.Cause(ctx)
		}
	}
	return err
}
