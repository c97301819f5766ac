package changes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"gascity/client"
	"gascity/internal/proc"
	"gascity/internal/textfmt"
)

const (
	maxOutput = 16 << 20    // bytes of the output of one git command that are read
	gitGrace  = time.Second // how long git may keep its output open after it was killed
	maxStderr = 2 << 10     // bytes of error output that are kept
	readAhead = 64 << 10    // bytes of the buffer of a stream
	nul       = byte(0)     // the end of a field in the output with -z
)

// git runs git commands in a working tree.
type git struct {
	program string
	dir     string // the current directory of git
	env     []string
}

// gitError reports that a git command failed.
type gitError struct {
	dir, command, output string
	err                  error
}

// Error returns the message for people, with the error output of git.
func (e *gitError) Error() string {
	why := textfmt.OneLine(e.output)
	if why == "" {
		why = e.err.Error()
	}
	return fmt.Sprintf("git %s failed in %s: %s", e.command, e.dir, why)
}

// Unwrap returns the causes.
func (e *gitError) Unwrap() []error { return []error{client.ErrUnavailable, e.err} }

// run runs a git command and returns its output, at most [maxOutput] bytes. cut is true if there
// was more; the output then ends with the last complete field.
func (g *git) run(ctx context.Context, stdin []byte, args ...string) (out []byte, cut bool, err error) {
	err = g.stream(ctx, stdin, func(r *bufio.Reader) error {
		out, err = io.ReadAll(io.LimitReader(r, maxOutput+1))
		if cut = len(out) > maxOutput; cut {
			out = out[:bytes.LastIndexByte(out[:maxOutput], nul)+1]
		}
		return err
	}, args...)
	return out, cut, err
}

// text returns the output of a git command without the line end.
func (g *git) text(ctx context.Context, args ...string) (string, error) {
	out, _, err := g.run(ctx, nil, args...)
	return strings.TrimRight(string(out), "\n"), err
}

// stream runs a git command and passes its output to read. If read returns before the end of the
// output, git is killed, which is no error.
func (g *git) stream(ctx context.Context, stdin []byte, read func(*bufio.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.program, args...)
	errs := &proc.Tail{Most: maxStderr}
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = g.dir, g.env, bytes.NewReader(stdin), errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = gitGrace
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return &gitError{g.dir, args[0], "", err}
	}
	buffered := bufio.NewReaderSize(out, readAhead)
	readErr := read(buffered)
	_, peekErr := buffered.Peek(1)
	early := peekErr == nil
	if early {
		cancel()
	}
	waitErr := cmd.Wait()
	switch {
	case early:
		return readErr
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case waitErr != nil:
		return &gitError{g.dir, args[0], errs.String(), waitErr}
	case errors.Is(readErr, io.EOF):
		return nil
	}
	return readErr
}

// fields calls the function each for every field of the output of a git command with -z. each can get the
// following field with next.
func fields(out []byte, each func(field string, next func() string)) {
	next := func() string {
		field, rest, _ := bytes.Cut(out, []byte{nul})
		out = rest
		return string(field)
	}
	for len(out) > 0 {
		each(next(), next)
	}
}
