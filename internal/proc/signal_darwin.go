package proc

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Signal sends a signal to exactly this process. The error is [ErrGone] if the process does not exist or is a zombie; no signal
// was sent then. Darwin has no process handles, so the start time is checked immediately before the signal. For a process of
// another user the error matches os.ErrPermission.
func Signal(id ID, sig syscall.Signal) error {
	if err := check(id); err != nil {
		return err
	}
	err := unix.Kill(id.PID, sig)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ESRCH):
		err = ErrGone
	}
	return &Error{Op: "signal", PID: id.PID, Err: err}
}

// WaitGone waits until exactly this process has exited, and returns nil. A zombie has exited. If ctx ends first, it returns the
// cause of ctx. After any other error the state of the process is unknown. It occupies one thread while it waits.
func WaitGone(ctx context.Context, id ID) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	queue, err := watchExit(id.PID)
	if err != nil {
		return fmt.Errorf("wait for process %d: %w", id.PID, err)
	}
	defer unix.Close(queue)
	// The check is made after the watch was set, so that the exit cannot be missed.
	if alive, err := Alive(id); !alive || err != nil {
		return err
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		trigger := make([]unix.Kevent_t, 1)
		unix.SetKevent(&trigger[0], cancelEvent, unix.EVFILT_USER, 0)
		trigger[0].Fflags = unix.NOTE_TRIGGER
		// Cannot fail: the event was registered above and the queue is open until done.
		_ = kevent(queue, trigger, nil)
	})
	defer func() {
		if !stop() {
			<-done
		}
	}()
	events := make([]unix.Kevent_t, 1)
	if err := kevent(queue, nil, events); err != nil {
		return fmt.Errorf("wait for process %d: %w", id.PID, err)
	}
	if events[0].Filter == unix.EVFILT_PROC {
		return nil
	}
	return context.Cause(ctx)
}

// cancelEvent is the user event that cancels a wait.
const cancelEvent = 1

// watchExit returns a queue with an event for the exit of the process and an event that cancels the wait. The process may
// already have exited.
func watchExit(pid int) (queue int, err error) {
	queue, err = unix.Kqueue()
	if err != nil {
		return -1, err
	}
	watch := make([]unix.Kevent_t, 2)
	unix.SetKevent(&watch[0], cancelEvent, unix.EVFILT_USER, unix.EV_ADD|unix.EV_CLEAR)
	unix.SetKevent(&watch[1], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	watch[1].Fflags = unix.NOTE_EXIT
	if err = kevent(queue, watch[:1], nil); err == nil {
		err = kevent(queue, watch[1:], nil)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		unix.Close(queue)
		return -1, err
	}
	return queue, nil
}

// kevent calls kevent(2) and retries after EINTR.
func kevent(queue int, changes, events []unix.Kevent_t) error {
	for {
		_, err := unix.Kevent(queue, changes, events, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// peerOf returns the user ID and process ID at the other end of a Unix socket.
func peerOf(socket int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptXucred(socket, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	if pid, err = unix.GetsockoptInt(socket, unix.SOL_LOCAL, unix.LOCAL_PEERPID); err != nil {
		pid = 0 // not reported
	}
	return int(cred.Uid), pid, nil
}
