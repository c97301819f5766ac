package ssh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gascity/internal/driver/remote"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// Config configures the driver of one host. Target, Place, Program and ID are required.
type Config struct {
	Target string // [user@]host[:port]
	Place  string // name of the driver on the remote host
	// ID is the name of the outpost on the remote host. It must be the same at each start of a
	// city. It consists of letters, digits and dashes.
	ID string
	// Dir is a private local directory for the socket that ssh processes share. If it is empty,
	// they share no connection, and attaching makes a connection of its own.
	Dir string
	// Program is the path of gc's program for this machine's platform. Programs holds the paths for
	// other platforms; the key is like "linux/arm64". gc copies the fitting one to the host.
	Program  string
	Programs map[string]string
	// Options are additional arguments of ssh, such as "-F", "file".
	Options []string
	// Environ is the environment of ssh: it needs HOME, PATH and perhaps SSH_AUTH_SOCK.
	Environ []string
	// Worker is the socket of this city's worker API. Empty means that agents on the host get no
	// worker API.
	Worker string
	// Connect is the limit for making the connection, including the copy of the program. Zero means
	// 60 s.
	Connect time.Duration
	Logger  *slog.Logger
}

// Provider runs agents on one host. It is safe for concurrent use.
type Provider struct {
	*remote.Provider
}

// persist is how long, in seconds, the shared connection stays open while it is unused. With it, an
// ssh process that exits does not close the connection of the others.
const persist = 5

// Open returns the driver. It connects at the first operation.
func Open(cfg Config) (*Provider, error) {
	target, err := ParseTarget(cfg.Target)
	if err != nil {
		return nil, err
	}
	if cfg.ID == "" || strings.Trim(cfg.ID, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
		return nil, fmt.Errorf("the outpost name %q must consist of letters, digits and dashes", cfg.ID)
	}
	if cfg.Connect <= 0 {
		cfg.Connect = time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	h := &host{cfg: cfg, target: target}
	return &Provider{remote.Open(remote.Options{
		Where: "host " + target.String(), Dial: h.dial, Connect: cfg.Connect, Attach: h.attach, Socket: cfg.Worker,
		Capabilities: runtime.ProviderCapabilities{CanReportAttachment: true, CanReportActivity: true, CanStream: true, CanAttachTTY: true},
	})}, nil
}

// host makes connections to one host.
type host struct {
	cfg    Config
	target Target
}

// controlTail is the number of bytes that ssh adds to the path of its socket during creation. maxSocket
// is the maximum length of a socket path.
const (
	controlTail = 18
	maxSocket   = 103
)

// controlPath returns the path of the socket that ssh processes share. It returns "" if Config.Dir
// is empty or the path would be too long; then each process makes its own connection.
func (h *host) controlPath() string {
	if h.cfg.Dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{h.target.String()}, h.cfg.Options...), "\x00")))
	path := filepath.Join(h.cfg.Dir, hex.EncodeToString(sum[:4]))
	if len(path)+controlTail > maxSocket {
		return ""
	}
	return strings.ReplaceAll(path, "%", "%%")
}

// command returns an ssh command that runs one shell command line on the host.
func (h *host) command(ctx context.Context, line string, flags ...string) *exec.Cmd {
	args := append([]string{"-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=2"}, flags...)
	if path := h.controlPath(); path != "" {
		args = append(args, "-o", "ControlMaster=auto", "-o", "ControlPersist="+strconv.Itoa(persist), "-o", "ControlPath="+path)
	}
	args = append(args, h.cfg.Options...)
	args = append(args, h.target.args()...)
	cmd := exec.CommandContext(ctx, "ssh", append(args, line)...) //nolint:gosec // the user's ssh, to the user's host
	cmd.Env = h.cfg.Environ
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// dial connects to the outpost on the host. If gc's program is not installed there, dial copies it
// first.
func (h *host) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	if h.cfg.Dir != "" {
		if err := os.MkdirAll(h.cfg.Dir, 0o700); err != nil {
			return nil, err
		}
	}
	program, err := fingerprint(h.cfg.Program)
	if err != nil {
		return nil, err
	}
	conn, err := h.serve(ctx, program)
	if missing, ok := errors.AsType[*missingError](err); ok {
		if program, err = h.uploadProgram(ctx, missing.system); err != nil {
			return nil, err
		}
		conn, err = h.serve(ctx, program)
	}
	if err != nil {
		return nil, err // conn is a nil pointer and must not become an interface
	}
	return conn, nil
}

// serve starts an outpost from the program with the given checksum, and connects to it.
func (h *host) serve(ctx context.Context, program string) (*connection, error) {
	conn, err := start(h.command(context.WithoutCancel(ctx), h.run(program, "serve", `"$folder"`, h.cfg.Place)))
	if err != nil {
		return nil, fmt.Errorf("cannot start ssh: %w; install an ssh client", err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // Await returns the error
	err = remote.Await(conn)
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, conn.failed(err)
	}
	return conn, nil
}

// attach connects the terminal of this process to the session.
func (h *host) attach(ctx context.Context, name string, opts runtime.AttachOptions) error {
	program, err := h.installed(ctx)
	if err != nil {
		return &runtime.Error{Op: "attach to", Session: name, Err: err}
	}
	args := []string{"attach", `"$folder"`, h.cfg.Place, textfmt.ShellWord(name)}
	if opts.ReadOnly {
		args = append(args, "--read-only")
	}
	for _, keys := range opts.DetachKeys {
		args = append(args, "--detach-keys", textfmt.ShellWord(keys))
	}
	cmd := h.command(ctx, h.run(program, args...), "-t")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitLost {
		err = fmt.Errorf("%w: the connection to %s was lost", runtime.ErrRuntimeUnavailable, h.target)
	}
	if err != nil {
		return &runtime.Error{Op: "attach to", Session: name, Err: err}
	}
	return nil
}
