package ssh

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"gascity/internal/driver/remote"
)

const (
	exitLost    = 255 // of ssh: the connection was not made, or was lost
	exitMissing = 87  // of our line: the program is not there
)

// connection is an ssh process, whose standard input and output are those of the far end.
type connection struct {
	io.ReadCloser  // its output
	io.WriteCloser // its input

	cmd    *exec.Cmd
	stderr remote.Tail
	ending sync.Once
	ended  error
}

// start runs cmd as a connection.
func start(cmd *exec.Cmd) (*connection, error) {
	c := &connection{cmd: cmd}
	cmd.Stderr = &c.stderr
	var err error
	if c.WriteCloser, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.ReadCloser, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return c, cmd.Start()
}

func (c *connection) Read(p []byte) (int, error) { return c.ReadCloser.Read(p) }

func (c *connection) Write(p []byte) (int, error) { return c.WriteCloser.Write(p) }

// Close ends the connection and its process.
func (c *connection) Close() error {
	c.end() //nolint:errcheck // it was killed
	return nil
}

func (c *connection) end() error {
	c.ending.Do(func() {
		c.WriteCloser.Close()    //nolint:errcheck // the process is ended
		_ = c.cmd.Process.Kill() // it has ended, or it ends now; the far end sees the end of its input
		c.ended = c.cmd.Wait()
	})
	return c.ended
}

// missingError says that the program is not there yet.
type missingError struct {
	system string // "linux/amd64"
}

func (e *missingError) Error() string { return "gc is not on a host that is " + e.system }

// stderrWait bounds how long a far end that is no outpost may go on.
const stderrWait = 5 * time.Second

// failed returns why no outpost answered.
func (c *connection) failed(cause error) error {
	// It has ended, or has printed something that is no outpost's: a login shell that
	// prints for ever, for one.
	timer := time.AfterFunc(stderrWait, func() { _ = c.cmd.Process.Kill() }) // it may have ended
	defer timer.Stop()
	c.WriteCloser.Close() //nolint:errcheck // it is wanted no more
	if printed, ok := errors.AsType[*remote.NoOutpostError](cause); ok && !errors.Is(printed.Err, io.EOF) {
		_ = c.cmd.Process.Kill() // it would go on
	}
	err := c.cmd.Wait()
	c.ending.Do(func() {}) // and is not waited for again
	exit, ok := errors.AsType[*exec.ExitError](err)
	printed, spoke := errors.AsType[*remote.NoOutpostError](cause)
	switch said := c.stderr.String(); {
	case ok && exit.ExitCode() == exitMissing && spoke:
		return &missingError{systemOf(printed.Printed)}
	case ok && exit.ExitCode() == exitLost:
		return &lostError{said}
	case said != "":
		return fmt.Errorf("%w; %s", cause, said)
	}
	return cause
}

// lostError is what ssh itself says of a connection that it could not make.
type lostError struct{ said string }

func (e *lostError) Error() string {
	said := strings.TrimPrefix(e.said, "ssh: ")
	if cure := e.remedy(); cure != "" {
		said = strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:]) + "; " + cure
	}
	return "ssh: " + cmp.Or(said, "it gave up without a message")
}

// remedy returns what a person has to do where ssh would ask, which it cannot without a terminal.
func (e *lostError) remedy() string {
	switch {
	case strings.Contains(e.said, "REMOTE HOST IDENTIFICATION HAS CHANGED"):
		return "its key is another one than before: find out why, then remove the old one with ssh-keygen -R"
	case strings.Contains(e.said, "Host key verification failed"):
		return "its key is not known: connect once by hand with ssh, and accept it"
	case strings.Contains(e.said, "Permission denied"):
		return "no key was accepted, and gc cannot type a password: load a key into your ssh agent, or name it in your ssh configuration"
	}
	return ""
}

// systemOf reads the last line of uname -sm as Go says it: "linux/amd64".
func systemOf(printed string) string {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	system, machine, _ := strings.Cut(strings.ToLower(strings.TrimSpace(lines[len(lines)-1])), " ")
	switch {
	case machine == "x86_64":
		machine = "amd64"
	case machine == "aarch64":
		machine = "arm64"
	case strings.HasPrefix(machine, "armv"):
		machine = "arm"
	case len(machine) == 4 && strings.HasSuffix(machine, "86"):
		machine = "386"
	}
	return system + "/" + machine
}
