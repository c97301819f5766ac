package proc

import (
	"os"
	"os/exec"
)

// Pipes are this process's ends of the pipes of another process.
type Pipes struct{ Stdin, Stdout, Stderr *os.File }

// Close closes the ends. It may be called more than once.
func (p Pipes) Close() {
	for _, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr} {
		if f != nil {
			f.Close() //nolint:errcheck // a second close does nothing
		}
	}
}

// StartWithPipes starts cmd with pipes for its standard input, output and error. Unlike the pipes of os/exec they stay open when
// the process exits, so that its last output can be read.
func StartWithPipes(cmd *exec.Cmd) (p Pipes, err error) {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close() //nolint:errcheck // the process has copies of its own
		}
		if err != nil {
			p.Close()
		}
	}()
	for _, own := range []**os.File{&p.Stdin, &p.Stdout, &p.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return p, err
		}
		if own == &p.Stdin {
			r, w = w, r
		}
		*own, theirs = r, append(theirs, w)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	return p, cmd.Start()
}
