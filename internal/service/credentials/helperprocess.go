package credentials

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	defaultTimeout = 30 * time.Second
	maxComplaint   = 200
	// lateOutput is how long after the exit of a command its output may still arrive.
	lateOutput = time.Second
	// orphanGrace is how long after its time limit a command is killed if no controller does so.
	orphanGrace = 2 * time.Second
)

// wrapperScript is the shell that runs a command, $1. After the login service has answered, the
// command must not be stopped before it has saved the new login; otherwise everyone is logged out.
// So the script keeps the lock of the login (descriptor 5) until the command has exited, even if
// the controller is killed. It also keeps the reading ends of the command's output (3, 4) open,
// because closing them would kill the command. It kills the command after $2 seconds if no
// controller does. The command and its child processes have none of these descriptors.
const wrapperScript = `(sleep "$2"; kill -9 0) >/dev/null 2>&1 3<&- 4<&- 5<&- &
/bin/sh -c "$1" 3<&- 4<&- 5<&-
exit $?`

// run runs the command of the source and returns its standard output. The error contains the
// beginning of its error output. If ctx ends, run returns, but the command continues and is stopped
// by its own wrapper script.
func (s Source) run(ctx context.Context, w Environment) ([]byte, error) {
	limit := cmp.Or(max(s.Timeout, 0), defaultTimeout)
	lock, err := w.Locks.acquire(ctx, s.Command, 2*limit)
	if err != nil {
		return nil, err
	}
	h := &helper{out: bounded{limit: maxValue + 1}, complaint: bounded{limit: maxComplaint}, ended: make(chan error, 1)}
	err = h.start(s.Command, w, limit, lock)
	if lock != nil {
		_ = lock.Close() // the wrapper script has it; nothing was written
	}
	if err != nil {
		return nil, fmt.Errorf("the command failed: %w", err)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err = <-h.ended:
	case <-timer.C:
		h.kill()
		if err = <-h.ended; !errors.Is(err, errLeftOpen) {
			err = fmt.Errorf("no answer within %s", limit)
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("stopped waiting for the command: %w", context.Cause(ctx))
	}
	switch {
	case errors.Is(err, errLeftOpen):
		return nil, fmt.Errorf("the command failed: %w", err)
	case err != nil:
		return nil, fmt.Errorf("the command failed: %w%s", err, h.complaintText())
	}
	return h.out.Bytes(), nil
}

// errLeftOpen means that the output must not be used, because another process may still write to
// it.
var errLeftOpen = errors.New("the command has ended, but a process that it started keeps its output open")

// helper is a running command.
type helper struct {
	cmd            *exec.Cmd
	out, complaint bounded // valid when ended has sent any result except errLeftOpen
	ended          chan error
}

// start starts the command and the goroutines that read its output. They run until the command
// exits, even if the caller does not wait.
func (h *helper) start(command string, w Environment, limit time.Duration, lock *os.File) error {
	seconds := int((limit + orphanGrace + time.Second - 1) / time.Second)
	h.cmd = exec.Command("/bin/sh", "-c", wrapperScript, "sh", command, strconv.Itoa(seconds)) //nolint:noctx // the command may outlive the controller
	h.cmd.Env, h.cmd.Dir = w.Environ, w.Dir
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var ends []*os.File
	defer func() {
		for _, f := range ends {
			_ = f.Close() // the wrapper script has it
		}
	}()
	var reads []*os.File
	for _, to := range []*io.Writer{&h.cmd.Stdout, &h.cmd.Stderr} {
		r, write, err := os.Pipe()
		if err != nil {
			return errors.Join(err, closeAll(reads))
		}
		*to = write
		reads, ends = append(reads, r), append(ends, write)
	}
	h.cmd.ExtraFiles = append(h.cmd.ExtraFiles, reads...) // if this process ends, the command can still write
	if lock != nil {
		h.cmd.ExtraFiles = append(h.cmd.ExtraFiles, lock)
	}
	if err := h.cmd.Start(); err != nil {
		return errors.Join(err, closeAll(reads))
	}
	var copies sync.WaitGroup
	for i, into := range []io.Writer{&h.out, &h.complaint} {
		copies.Go(func() {
			_, _ = io.Copy(into, reads[i]) // output that cannot be read is ignored
			_ = reads[i].Close()           // nothing was written
		})
	}
	go h.wait(&copies)
	return nil
}

// closeAll closes the files and returns their errors as one.
func closeAll(files []*os.File) error {
	var failed []error
	for _, f := range files {
		failed = append(failed, f.Close())
	}
	return errors.Join(failed...)
}

// wait waits until the command exits, kills the rest of its process group, and sends the result to
// h.ended when its output was read completely.
func (h *helper) wait(copies *sync.WaitGroup) {
	err := h.cmd.Wait()
	h.kill()
	read := make(chan struct{})
	go func() {
		copies.Wait()
		close(read)
	}()
	select {
	case <-read:
	case <-time.After(lateOutput):
		err = errLeftOpen
	}
	h.ended <- err
}

// kill kills the process group of the command. After the command has exited, usually only the timer
// of the wrapper script is left.
func (h *helper) kill() { _ = syscall.Kill(-h.cmd.Process.Pid, syscall.SIGKILL) }

// complaintText returns the error output of the command on one line, after ": "; empty if there was
// none.
func (h *helper) complaintText() string {
	words := strings.Join(strings.Fields(strings.ToValidUTF8(h.complaint.String(), "")), " ")
	if words == "" {
		return ""
	}
	return ": " + words
}

// bounded is a writer that keeps the first limit bytes and never fails.
type bounded struct {
	bytes.Buffer
	limit int
}

// Write implements io.Writer. It drops the bytes that exceed the limit.
func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, b.limit-b.Len()))])
	return len(p), nil
}
