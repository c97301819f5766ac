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
	"gascity/internal/proc"
)

const (
	exitLost    = 255 // exit status of ssh: the connection failed or was lost
	exitMissing = 87  // exit status of gc's command line: gc's program is not installed
)

// connection is an ssh process. Its standard input and output are connected to the remote process.
type connection struct {
	io.ReadCloser  // standard output of the process
	io.WriteCloser // standard input of the process

	cmd      *exec.Cmd
	stderr   proc.Tail
	stopOnce sync.Once
}

// start starts cmd and returns its connection.
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

// Close closes the connection, kills the process and waits for it.
func (c *connection) Close() error {
	c.stopOnce.Do(func() {
		c.WriteCloser.Close()    //nolint:errcheck // the process is killed next
		_ = c.cmd.Process.Kill() // it may have exited already; the remote process reads the end of its input
		_ = c.cmd.Wait()         // it was killed
	})
	return nil
}

// missingError reports that gc's program is not installed on the host.
type missingError struct {
	system string // "linux/amd64"
}

func (e *missingError) Error() string {
	return "gc's program for " + e.system + " is not installed on the host"
}

// stderrWait is how long a remote process that is not an outpost may run before it is killed.
const stderrWait = 5 * time.Second

// failed returns the reason why no outpost answered. cause is the error of the attempt. failed
// waits for the process and uses its exit status and its messages.
func (c *connection) failed(cause error) error {
	// The process has exited, or it has printed something that an outpost does not print. A login
	// shell may print without end.
	timer := time.AfterFunc(stderrWait, func() { _ = c.cmd.Process.Kill() }) // it may have exited
	defer timer.Stop()
	c.WriteCloser.Close() //nolint:errcheck // it is not used any more
	if printed, ok := errors.AsType[*remote.NoOutpostError](cause); ok && !errors.Is(printed.Err, io.EOF) {
		_ = c.cmd.Process.Kill() // it would run without end
	}
	err := c.cmd.Wait()
	c.stopOnce.Do(func() {}) // Close must not wait for it again
	exit, ok := errors.AsType[*exec.ExitError](err)
	printed, hasOutput := errors.AsType[*remote.NoOutpostError](cause)
	switch message := c.stderr.String(); {
	case ok && exit.ExitCode() == exitMissing && hasOutput:
		return &missingError{remote.SystemOf(printed.Printed)}
	case ok && exit.ExitCode() == exitLost:
		return &lostError{message}
	case message != "":
		return fmt.Errorf("%w; %s", cause, message)
	}
	return cause
}

// lostError is the error of a connection that ssh could not make or lost. It has the message of
// ssh.
type lostError struct{ message string }

func (e *lostError) Error() string {
	message := strings.TrimPrefix(e.message, "ssh: ")
	if remedy := e.remedy(); remedy != "" {
		message = strings.TrimSpace(message[strings.LastIndexByte(message, '\n')+1:]) + "; " + remedy
	}
	return "ssh: " + cmp.Or(message, "it failed without a message")
}

// remedy returns what a person must do, for errors where ssh needs a person. ssh cannot ask,
// because gc runs it without a terminal. It returns "" for other errors.
func (e *lostError) remedy() string {
	switch {
	case strings.Contains(e.message, "REMOTE HOST IDENTIFICATION HAS CHANGED"):
		return "the host key has changed: find out why, then remove the old key with ssh-keygen -R"
	case strings.Contains(e.message, "Host key verification failed"):
		return "the host key is not known: connect once by hand with ssh, and accept the key"
	case strings.Contains(e.message, "Permission denied"):
		return "no key was accepted, and gc cannot type a password: load a key into your ssh agent, or name it in your ssh configuration"
	}
	return ""
}
