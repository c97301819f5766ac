// Package cmdenv is where every command works: its streams, its city and the
// client of that city's controller, how it prints, what it says, and how it ends.
//
// Data goes to standard output, talk to standard error. A message names the thing
// and the remedy, begins in lower case and ends without a full stop. Errors
// become exit statuses in one place, [Base.Fail].
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

// Env is what a command gets from the process it runs in. All fields but Width and
// Height are required.
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
	// Width is the number of columns of the terminal now. Nil or zero is unlimited.
	Width func() int
	// Height is the number of its rows. Nil or zero is unlimited.
	Height func() int
	// Dir is the current folder.
	Dir string
	// Version is this program's version.
	Version string
}

// Base is the place of one run of the program. It is used by one goroutine, save
// for Talk.
type Base struct {
	Env

	City            string // --city
	JSON            bool   // --json
	textfmt.Painter        // for standard output
}

// New makes the desk of a run. Its streams let nothing through that controls a terminal, see
// [textfmt.Printer]; what has to is written to [Base.Raw].
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

// Raw returns the process's own stream behind one of a desk: for archives and protocols, for
// what a person asks to get byte by byte, and for the cursor. No text of others goes there
// on a terminal.
func Raw(stream io.Writer) io.Writer {
	if p, ok := stream.(*textfmt.Printer); ok {
		return p.Out
	}
	return stream
}

// usesColor reports whether a stream is a terminal that wants colour.
func (d *Base) usesColor(stream any) bool {
	return d.IsTerminal(stream) && d.Getenv("NO_COLOR") == "" && d.Getenv("TERM") != "dumb"
}

// Root returns the city that the command is about: --city, else the one around
// the current folder, else the one that an agent finds in its environment.
func (d *Base) Root() (string, error) {
	if d.City != "" {
		dir := d.Path(d.City)
		root, err := client.FindCity(dir)
		if err == nil && !sameFolder(root, dir) {
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

// dirWithController returns dir in place of err if a controller works there: a city that
// has lost its city.toml can still be looked at and stopped.
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

func sameFolder(root, dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == root
}

// Path makes an argument absolute.
func (d *Base) Path(arg string) string {
	if filepath.IsAbs(arg) {
		return filepath.Clean(arg)
	}
	return filepath.Join(d.Dir, arg)
}

// clientTimeout is how long a controller may take to answer a question.
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

// ParseTime returns the time that the value of a flag means.
func (d *Base) ParseTime(flag, value string) (time.Time, error) {
	t, err := textfmt.ParseMoment(d.Now(), value)
	if err != nil {
		return t, fmt.Errorf("%w: %s %w", client.ErrInvalid, flag, err)
	}
	return t, nil
}
