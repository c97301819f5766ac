package control

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options of a client. Only Socket is required.
type Options struct {
	// Socket is the absolute path of the server's socket, at most 103 bytes. Its folder is made
	// with mode 0700 when the server is started; one that others may enter is refused.
	Socket string
	// Binary is the program: a path, or a name that is looked up in Path. Default "tmux".
	Binary string
	// Path is the list of folders for Binary, as in PATH. Default: PATH of Env.
	Path string
	// Config is the configuration file of the server. Default: none, not the user's.
	Config string
	// Env is the whole environment of the server and of our client; nothing is inherited. Panes
	// get it too, so it must hold no secret. TMUX and TMUX_PANE are left out.
	Env []string
	// Hub is the name of our own session. Default "gc-hub".
	Hub string
	// Width and Height are the size of the hub. Default 200x50.
	Width, Height int
	// Logger gets connections, losses and unknown notifications. Default: none.
	Logger *slog.Logger
}

// Server identifies one life of a server.
type Server struct {
	// PID is its process.
	PID int
	// Started is when it says it was started, to the second.
	Started time.Time
	// Version is what it calls itself, such as "3.3a". Branch on Features instead.
	Version string
}

// Features is what a server can do, found by asking it.
type Features struct {
	// Pause: panes that print faster than we read are paused and continued (3.2).
	Pause bool
	// Monitors: Monitor works (3.2).
	Monitors bool
	// IgnoreSize: our client has no say in the size of windows by its own flag (3.2).
	IgnoreSize bool
	// PaneHooks: pane-died and pane-exited are hooks of windows and panes (set-hook -gw), not of
	// sessions (set-hook -g) (3.2).
	PaneHooks bool
	// SessionEnv: new-session and respawn-pane know -e (3.2, 3.0).
	SessionEnv bool
	// HiddenEnv: a session keeps variables that its programs do not get (3.2).
	HiddenEnv bool
}

// maxSocket is the longest path of a socket that all systems take, in bytes.
const maxSocket = 103

// complete returns the options with their defaults. Errors: ErrSocketPath.
func (o Options) complete() (Options, error) {
	if !filepath.IsAbs(o.Socket) || len(o.Socket) > maxSocket || strings.ContainsAny(o.Socket, "\x00\n") {
		return o, fmt.Errorf("%w: %q must be absolute and at most %d bytes, it has %d", ErrSocketPath, o.Socket, maxSocket, len(o.Socket))
	}
	o.Binary = cmp.Or(o.Binary, "tmux")
	o.Config = cmp.Or(o.Config, "/dev/null")
	o.Hub = cmp.Or(o.Hub, "gc-hub")
	o.Width, o.Height = cmp.Or(o.Width, 200), cmp.Or(o.Height, 50)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(variable string) bool {
		return strings.HasPrefix(variable, "TMUX=") || strings.HasPrefix(variable, "TMUX_PANE=")
	})
	if o.Path == "" {
		for _, variable := range o.Env {
			if path, ok := strings.CutPrefix(variable, "PATH="); ok {
				o.Path = path
			}
		}
	}
	return o, nil
}
