package tmuxserver

import (
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ClientOptions are the options of a Client. Only Socket is required.
type ClientOptions struct {
	// Socket is the absolute path of the server's socket, at most 103 bytes. Starting the server creates the socket's
	// directory with mode 0700, and fails if other users may enter the directory.
	Socket string
	// Binary is the tmux program: a path, or a name that is searched for in Path. Default "tmux".
	Binary string
	// Path is the list of directories for Binary, in the form of PATH. Default: PATH of Env.
	Path string
	// Config is the configuration file of the server. Default: none. The user's file is not read.
	Config string
	// Env is the complete environment of the server and of the client process; they inherit nothing else. Panes get it
	// too, so it must contain no secret. TMUX and TMUX_PANE are removed from it.
	Env []string
	// Hub is the name of the client's own session. Default "gc-hub".
	Hub string
	// Width and Height are the size of the hub. Default 200x50.
	Width, Height int
	// Logger logs connections, losses and unknown notifications. Default: none.
	Logger *slog.Logger
}

// ServerProcess identifies one server process.
type ServerProcess struct {
	// PID is the process id.
	PID int
	// Started is the start time that the server reports, with a resolution of one second.
	Started time.Time
	// Version is the version that the server reports, such as "3.3a". To decide what the server supports, use
	// Features.
	Version string
}

// Features are the features that a server supports. In parentheses is the first version of tmux.
type Features struct {
	// Pause: the server can pause and continue the output of panes for a client (3.2).
	Pause bool
	// Monitors: Monitor works (3.2).
	Monitors bool
	// IgnoreSize: a client can have a flag that makes the server ignore its size (3.2).
	IgnoreSize bool
	// PaneHooks: pane-died and pane-exited are hooks of windows and panes (set-hook -gw), not of
	// sessions (set-hook -g) (3.2).
	PaneHooks bool
	// SessionEnv: new-session has the flag -e (3.2).
	SessionEnv bool
	// HiddenEnv: a session can have hidden variables, which its programs do not inherit (3.2).
	HiddenEnv bool
}

// maxSocket is the longest socket path in bytes that all systems allow.
const maxSocket = 103

// complete returns the options with defaults for empty fields. Errors: ErrSocketPath.
func (o ClientOptions) complete() (ClientOptions, error) {
	if !filepath.IsAbs(o.Socket) || len(o.Socket) > maxSocket || strings.ContainsAny(o.Socket, "\x00\n") {
		return o, fmt.Errorf("%w: %q (%d bytes) must be an absolute path of at most %d bytes", ErrSocketPath, o.Socket, len(o.Socket), maxSocket)
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
