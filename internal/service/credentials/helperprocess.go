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
	// lateOutput is how long what a helper has printed may take to arrive after its end.
	lateOutput = time.Second
	// orphanGrace is how long after its time a helper without a controller is ended.
	orphanGrace = 2 * time.Second
)

// wrapperScript is the shell around a helper, $1. Between the answer of the login service and the moment
// at which it has kept the new login a helper must not be disturbed, or everybody is logged out. So
// the guardian has the lock of the login (5), which is not free before the helper has ended although
// its controller was killed, and the reading ends of its output (3, 4), whose closing would kill it;
// and it ends the helper after $2 seconds should no controller do so. The helper itself, and what it
// leaves behind, have none of these.
const wrapperScript = `(sleep "$2"; kill -9 0) >/dev/null 2>&1 3<&- 4<&- 5<&- &
/bin/sh -c "$1" 3<&- 4<&- 5<&-
exit $?`

// run runs the command in a process group of its own. Its standard error is for
// people, and a part of it is in the error. When ctx ends the helper is left to its guardian.
func (s Source) run(ctx context.Context, w Environment) ([]byte, error) {
	limit := cmp.Or(max(s.Timeout, 0), defaultTimeout)
	lock, err := w.Locks.acquire(ctx, s.Command, 2*limit)
	if err != nil {
		return nil, err
	}
	h := &helper{out: bounded{limit: maxValue + 1}, complaint: bounded{limit: maxComplaint}, ended: make(chan error, 1)}
	err = h.start(s.Command, w, limit, lock)
	if lock != nil {
		_ = lock.Close() // the guardian has it; nothing was written
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
		return nil, fmt.Errorf("the command is not waited for: %w", context.Cause(ctx))
	}
	switch {
	case errors.Is(err, errLeftOpen):
		return nil, fmt.Errorf("the command failed: %w", err)
	case err != nil:
		return nil, fmt.Errorf("the command failed: %w%s", err, h.complaintText())
	}
	return h.out.Bytes(), nil
}

// errLeftOpen says that what was printed is not to be read: it may still be written.
var errLeftOpen = errors.New("a process that it left behind keeps its output open")

// helper is a command that runs.
type helper struct {
	cmd            *exec.Cmd
	out, complaint bounded // to be read when ended has sent anything but errLeftOpen
	ended          chan error
}

// start starts the command, and has what it prints read until its end: by goroutines that
// end with it, also if no caller waits for it any more.
func (h *helper) start(command string, w Environment, limit time.Duration, lock *os.File) error {
	seconds := int((limit + orphanGrace + time.Second - 1) / time.Second)
	h.cmd = exec.Command("/bin/sh", "-c", wrapperScript, "sh", command, strconv.Itoa(seconds)) //nolint:noctx // it outlives us
	h.cmd.Env, h.cmd.Dir = w.Environ, w.Dir
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var ends []*os.File
	defer func() {
		for _, f := range ends {
			_ = f.Close() // the guardian has it
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
	h.cmd.ExtraFiles = append(h.cmd.ExtraFiles, reads...)
	if lock != nil {
		h.cmd.ExtraFiles = append(h.cmd.ExtraFiles, lock)
	}
	if err := h.cmd.Start(); err != nil {
		return errors.Join(err, closeAll(reads))
	}
	var copies sync.WaitGroup
	for i, into := range []io.Writer{&h.out, &h.complaint} {
		copies.Go(func() {
			_, _ = io.Copy(into, reads[i]) // what cannot be read is missed
			_ = reads[i].Close()           // nothing was written
		})
	}
	go h.wait(&copies)
	return nil
}

func closeAll(files []*os.File) error {
	var failed []error
	for _, f := range files {
		failed = append(failed, f.Close())
	}
	return errors.Join(failed...)
}

// wait waits for the end of the command, ends what it left behind, and returns once all
// was read.
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

// kill ends what is left of the group; mostly nothing but the guardian's clock.
func (h *helper) kill() { _ = syscall.Kill(-h.cmd.Process.Pid, syscall.SIGKILL) }

// complaintText returns what it complained of.
func (h *helper) complaintText() string {
	words := strings.Join(strings.Fields(strings.ToValidUTF8(h.complaint.String(), "")), " ")
	if words == "" {
		return ""
	}
	return ": " + words
}

// bounded keeps the beginning of what is written, and never fails.
type bounded struct {
	bytes.Buffer
	limit int
}

// Write keeps what there is room for.
func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, b.limit-b.Len()))])
	return len(p), nil
}
