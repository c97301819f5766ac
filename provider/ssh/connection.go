package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"

	"gascity/internal/outpost"
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
	said   tail
	ending sync.Once
	ended  error
}

// start runs cmd as a connection.
func start(cmd *exec.Cmd) (*connection, error) {
	c := &connection{cmd: cmd}
	cmd.Stderr = &c.said
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
	c.end()
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

// failed tells why no outpost answered.
func (c *connection) failed(cause error) error {
	// It has ended, or has printed something that is no outpost's: waiting for it would be
	// for nothing.
	c.WriteCloser.Close() //nolint:errcheck // see above
	err := c.cmd.Wait()
	c.ending.Do(func() {}) // and is not waited for again
	exit, ok := errors.AsType[*exec.ExitError](err)
	var printed *outpost.NoOutpostError
	errors.As(cause, &printed)
	switch said := c.said.String(); {
	case ok && exit.ExitCode() == exitMissing && printed != nil:
		return &missingError{systemOf(printed.Printed)}
	case ok && exit.ExitCode() == exitLost:
		return fmt.Errorf("ssh: %s", said)
	case said != "":
		return fmt.Errorf("%w; %s", cause, said)
	}
	return cause
}

// systemOf reads the last line of uname -sm as Go says it: "linux/amd64".
func systemOf(printed string) string {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	system, machine, _ := strings.Cut(strings.ToLower(lines[len(lines)-1]), " ")
	switch machine {
	case "x86_64":
		machine = "amd64"
	case "aarch64":
		machine = "arm64"
	}
	return system + "/" + machine
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailKept = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-tailKept):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.kept))
}
