package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gascity/internal/shim/folder"
	"gascity/internal/tmuxctl"
	"gascity/runtime"
)

const (
	// hub is the session of the control client. No session of the contract can have
	// this name.
	hub = "~gc"
	// cols and rows are the size of a session to which nobody is attached.
	cols, rows = 200, 50
	// scrollback is how many lines are kept above the screen.
	scrollback = 10_000
	// maxSocketPath is what every system allows, without the final NUL.
	maxSocketPath = 103
)

// server is the city's tmux server.
type server struct {
	cfg    Config
	ctl    *tmuxctl.Client
	socket string
	conf   string
	env    []string // of the server: no secret is in it, panes inherit it
}

func openServer(cfg Config) (*server, error) {
	for _, dir := range []string{cfg.Dir, filepath.Join(cfg.Dir, "sessions")} {
		if err := folder.Private(dir); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	socket, err := socketPath(dir, cfg.Socket)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, socket: socket, conf: filepath.Join(dir, "tmux.conf"), env: serverEnv(cfg.Env)}
	s.ctl, err = tmuxctl.New(tmuxctl.Options{
		Socket: socket, Binary: cfg.Binary, Path: value(cfg.Environ, "PATH"), Config: s.conf, Env: s.env,
		Hub: hub, Width: cols, Height: rows, Logger: cfg.Logger,
	})
	return s, err
}

// socketPath is in the folder, or, where that is too long for a socket, in a private
// folder of the user's that follows from it.
func socketPath(dir, name string) (string, error) {
	path := name
	if !filepath.IsAbs(name) {
		if name != filepath.Base(name) || name == "." || name == ".." {
			return "", fmt.Errorf("a tmux socket cannot be called %q: choose a name without slashes, or an absolute path", name)
		}
		path = filepath.Join(dir, name)
	}
	if len(path) <= maxSocketPath {
		return path, nil
	}
	sum := sha256.Sum256([]byte(path))
	short := filepath.Join(os.TempDir(), fmt.Sprintf("gc-tmux-%d", os.Getuid()))
	if len(short) > maxSocketPath-20 {
		short = fmt.Sprintf("/tmp/gc-tmux-%d", os.Getuid())
	}
	for _, dir := range []string{short, filepath.Join(short, hex.EncodeToString(sum[:8]))} {
		if err := folder.Private(dir); err != nil {
			return "", err
		}
		short = dir
	}
	return filepath.Join(short, "s"), nil
}

// inherited are the variables that the server gets from the base environment: what a
// program needs to run at all, and nothing that could be a secret.
var inherited = []string{"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TERMINFO", "TERMINFO_DIRS", "TZ"}

func serverEnv(base []string) []string {
	var env []string
	for _, name := range inherited {
		if v := value(base, name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// value returns a variable of an environment; the first entry counts.
func value(env []string, name string) string {
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			return v
		}
	}
	return ""
}

// configured calls do with the configuration written, one process and goroutine after the
// other.
func (s *server) configured(ctx context.Context, do func() error) error {
	lock, err := os.OpenFile(filepath.Join(filepath.Dir(s.conf), "server.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	err = retry(ctx, func() error { return folder.Flock(lock, syscall.LOCK_EX|syscall.LOCK_NB) }, syscall.EWOULDBLOCK)
	if err == nil {
		err = folder.WriteFile(s.conf, []byte(s.configuration()))
	}
	if err != nil {
		return err
	}
	return do()
}

// start takes up the server or starts it. Two that start one at once would have one each.
func (s *server) start(ctx context.Context) error {
	if _, _, known := s.ctl.Server(); known {
		if _, err := s.ctl.Start(ctx); err == nil {
			return nil
		}
	}
	err := s.configured(ctx, func() error { _, err := s.ctl.Start(ctx); return err })
	if errors.Is(err, tmuxctl.ErrNoTmux) {
		return fmt.Errorf("%w; install it, or choose the provider that needs nothing: session provider \"pty\"", err)
	}
	return err
}

// do sends commands to the server that runs. After a loss it takes up another one that
// somebody may have started. Without a server the error matches [tmuxctl.ErrNoServer].
func (s *server) do(ctx context.Context, commands ...tmuxctl.Command) ([]tmuxctl.Reply, error) {
	replies, err := s.ctl.Do(ctx, commands...)
	for try := 0; err != nil && try < 3; try++ {
		switch {
		case errors.Is(err, tmuxctl.ErrServerLost):
			if _, err := s.ctl.Attach(ctx); err != nil {
				return nil, err
			}
		case errors.Is(err, tmuxctl.ErrInterrupted) && ctx.Err() == nil && try == 0 && reads(commands):
		case errors.Is(err, tmuxctl.ErrNoTmux) && folder.Gone(s.socket):
			return nil, fmt.Errorf("%w at %s", tmuxctl.ErrNoServer, s.socket) // nor is there a program to ask it with
		default:
			return replies, err
		}
		replies, err = s.ctl.Do(ctx, commands...)
	}
	return replies, err
}

// ask is do for one command that changes nothing.
func (s *server) ask(ctx context.Context, command tmuxctl.Command) (tmuxctl.Reply, error) {
	replies, err := s.do(ctx, command)
	if len(replies) == 0 {
		return tmuxctl.Reply{}, err
	}
	return replies[0], err
}

// absent reports whether err says for certain that there is no server.
func absent(err error) bool { return errors.Is(err, tmuxctl.ErrNoServer) }

// reads reports whether the commands may be sent twice.
func reads(commands []tmuxctl.Command) bool {
	for _, c := range commands {
		line, err := c.Line()
		if err != nil || !strings.HasPrefix(line, "display-message") && !strings.HasPrefix(line, "list-") && !strings.HasPrefix(line, "capture-pane") {
			return false
		}
	}
	return true
}

// ConfigureServer keeps the contract of runtime.ServerLifecycleProvider: the present
// configuration is applied to a server that runs.
func (p *Provider) ConfigureServer() error {
	ctx, cancel := bounded()
	defer cancel()
	err := p.server.configured(ctx, func() error {
		_, err := p.server.do(ctx, tmuxctl.Cmd("source-file", p.server.conf))
		return err
	})
	if absent(err) {
		return nil
	}
	return fold("configure the server of", "", err)
}

// TeardownServer keeps the contract of runtime.ServerLifecycleProvider. A server with
// sessions that run is refused.
func (p *Provider) TeardownServer() error {
	ctx, cancel := bounded()
	defer cancel()
	list, err := p.list(ctx)
	if absent(err) {
		return nil
	}
	if err != nil {
		return fold("tear down the server of", "", err)
	}
	for _, s := range list {
		if !s.dead {
			return &runtime.Error{Op: "tear down the server of", Session: s.name, Err: errors.New("the session still runs: stop it first")}
		}
	}
	clients, err := p.controlClients(ctx)
	server, _, known := p.server.ctl.Server()
	if err == nil {
		_, err = p.server.do(ctx, tmuxctl.Cmd("kill-server"))
	}
	err = ignoreLoss(err)
	if err == nil && known {
		err = awaitServer(ctx, server.PID, clients)
	}
	return fold("tear down the server of", "", err)
}

// ignoreLoss drops what tells that the server has ended.
func ignoreLoss(err error) error {
	for _, lost := range []error{tmuxctl.ErrServerLost, tmuxctl.ErrNoServer, tmuxctl.ErrInterrupted} {
		if errors.Is(err, lost) {
			return nil
		}
	}
	return err
}
