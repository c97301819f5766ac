// Package cmdenv is the environment of every command: its streams, its city, the
// client of that city's controller, output, messages and exit statuses.
//
// Data goes to standard output, messages for people to standard error. A message
// names what failed and how to fix it, begins in lower case and ends without a full
// stop. [Base.Fail] alone turns errors into exit statuses.
package cmdenv

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Env is what a command gets from the process it runs in. All fields but Width and Height are required; Signals and Suspend
// are used only if there is a Height.
type Env struct {
	// Stdin, Stdout and Stderr are the process's streams.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv reads one environment variable; empty if it is not set.
	Getenv func(key string) string
	// Now is the clock for ages.
	Now func() time.Time
	// IsTerminal reports whether a stream of this Env is a terminal.
	IsTerminal func(stream any) bool
	// Width returns the current number of columns of the terminal. Nil or zero is unlimited.
	Width func() int
	// Height returns the current number of rows of the terminal. Nil or zero is unlimited.
	Height func() int
	// Signals returns a channel of the signals SIGWINCH and SIGTSTP, and the function that ends it.
	Signals func() (signals <-chan os.Signal, stop func())
	// Suspend stops this process until it is continued.
	Suspend func() error
	// Dir is the current directory.
	Dir string
	// Version is this program's version.
	Version string
}

// Base is the environment of one run of the program. Only [Base.Messagef] may be called
// from several goroutines.
type Base struct {
	Env

	City            string // --city
	JSON            bool   // --json
	textfmt.Painter        // for standard output
}

// New returns the Base of one run. Its output streams remove control sequences, see
// [textfmt.Printer]. Write to the stream that [Raw] returns to keep them.
func New(env Env) Base {
	d := Base{Env: env}
	d.On = d.usesColor(env.Stdout)
	d.Stdout = &textfmt.Printer{Out: env.Stdout, Colors: d.On}
	d.Stderr = &textfmt.Printer{Out: env.Stderr, Colors: d.usesColor(env.Stderr)}
	d.IsTerminal = func(stream any) bool {
		if p, ok := stream.(*textfmt.Printer); ok {
			stream = p.Out
		}
		return env.IsTerminal(stream)
	}
	return d
}

// Raw returns the process's own stream for an output stream of a [Base]: without the removal
// of control sequences. Use it for archives, for protocols, for output that must be unchanged,
// and to move the cursor. Never write text of agents to it if it is a terminal.
func Raw(stream io.Writer) io.Writer {
	if p, ok := stream.(*textfmt.Printer); ok {
		return p.Out
	}
	return stream
}

// usesColor reports whether colors are printed on a stream: it is a terminal, NO_COLOR is empty
// and TERM is not dumb.
func (d *Base) usesColor(stream any) bool {
	return d.IsTerminal(stream) && d.Getenv("NO_COLOR") == "" && d.Getenv("TERM") != "dumb"
}

// Root returns the absolute path of the city directory: --city, else the nearest directory
// with a city.toml at or above the current one, else GC_CITY_PATH, which agents have in
// their environment.
func (d *Base) Root() (string, error) {
	if d.City != "" {
		dir := d.Path(d.City)
		root, err := client.FindCity(dir)
		if err == nil && !sameDir(root, dir) {
			err = fmt.Errorf("%w: %s has no %s; the city around it is %s", client.ErrNotFound, d.City, client.CityFile, root)
		}
		if err != nil {
			return dirWithController(dir, err)
		}
		return root, nil
	}
	root, err := client.FindCity(d.Dir)
	if err == nil {
		return root, nil
	}
	if given := d.Getenv("GC_CITY_PATH"); given != "" {
		return client.FindCity(given)
	}
	return dirWithController(d.Dir, err)
}

// dirWithController returns dir if it has a control socket, else err. So a city whose city.toml
// is missing can still be inspected and stopped.
func dirWithController(dir string, err error) (string, error) {
	real, realErr := filepath.EvalSymlinks(dir)
	if realErr != nil || !errors.Is(err, client.ErrNotFound) {
		return "", err
	}
	if info, statErr := os.Lstat(client.SocketPath(real)); statErr != nil || info.Mode().Type() != fs.ModeSocket {
		return "", err
	}
	return real, nil
}

// sameDir reports whether dir, with its symbolic links resolved, is root.
func sameDir(root, dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == root
}

// Path returns an argument as an absolute path, relative to the current directory; that directory if it is empty.
func (d *Base) Path(arg string) string {
	if filepath.IsAbs(arg) {
		return filepath.Clean(arg)
	}
	return filepath.Join(d.Dir, arg)
}

// clientTimeout is how long a controller may take to answer a request.
const clientTimeout = 10 * time.Second

// Client returns a client of the city's controller. The caller closes it.
func (d *Base) Client() (*client.Client, error) {
	root, err := d.Root()
	if err != nil {
		return nil, err
	}
	return d.ClientOf(root), nil
}

// ClientOf returns a client of the controller of the city at root.
func (d *Base) ClientOf(root string) *client.Client {
	return &client.Client{Root: root, Version: d.Version, Patience: clientTimeout, OnSkew: func(ours, theirs string) {
		d.Messagef("gc: this is version %s but the controller is %s; hand over with: gc controller stop && gc start (agents keep running)", ours, theirs)
	}}
}

// AddJSONFlag adds --json to a command.
func (d *Base) AddJSONFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&d.JSON, "json", false, "print JSON")
	return cmd
}

// ParseTime parses the value of a flag: a duration before now, or a date and time. The error
// matches [client.ErrInvalid] and names the flag.
func (d *Base) ParseTime(flag, value string) (time.Time, error) {
	t, err := textfmt.ParseMoment(d.Now(), value)
	if err != nil {
		return t, fmt.Errorf("%w: %s %w", client.ErrInvalid, flag, err)
	}
	return t, nil
}
