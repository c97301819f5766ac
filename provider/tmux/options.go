package tmux

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"
)

// clientOptions are the options of a controlClient. All fields are required.
type clientOptions struct {
	// Socket is the absolute path of the server's socket, at most 103 bytes. Starting the server creates the socket's
	// directory with mode 0700, and fails if other users may enter the directory.
	Socket string
	// Binary is the tmux program: a path, or a name that is searched for in Path.
	Binary string
	// Path is the list of directories for Binary, in the form of PATH.
	Path string
	// Config is the configuration file of the server. The user's file is not read.
	Config string
	// Env is the complete environment of the server and of the client process; they inherit nothing else. Panes get it
	// too, so it must contain no secret, and neither TMUX nor TMUX_PANE.
	Env []string
	// Logger logs connections, losses and notifications that no receiver needs.
	Logger *slog.Logger
}

// serverProcess identifies one server process.
type serverProcess struct {
	// PID is the process id.
	PID int
	// Started is the start time that the server reports, with a resolution of one second.
	Started time.Time
	// Version is the version that the server reports, such as "3.3a". To decide what the server supports, use
	// serverFeatures.
	Version string
}

// serverFeatures are the features that a server supports. In parentheses is the first version of tmux.
type serverFeatures struct {
	// Pause: the server can pause and continue the output of panes for a client (3.2).
	Pause bool
	// HiddenEnv: a session can have hidden variables, which its programs do not inherit (3.2).
	HiddenEnv bool
}

// maxSocketPath is the longest socket path in bytes that all systems allow, without the final NUL.
const maxSocketPath = 103

// checkSocketPath returns errSocketPath if no server can listen at the path.
func checkSocketPath(path string) error {
	if !filepath.IsAbs(path) || len(path) > maxSocketPath || strings.ContainsAny(path, "\x00\n") {
		return fmt.Errorf("%w: %q (%d bytes) must be an absolute path of at most %d bytes", errSocketPath, path, len(path), maxSocketPath)
	}
	return nil
}
