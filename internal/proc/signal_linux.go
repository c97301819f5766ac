package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Signal sends a signal to exactly this process, never to a process that reuses its pid. The error is [ErrGone] if the process
// does not exist or is a zombie; no signal was sent then. For a process of another user the error matches [os.ErrPermission].
func Signal(id ID, sig syscall.Signal) error {
	err := withPidfd(id, func(fd int) error { return unix.PidfdSendSignal(fd, sig, nil, 0) })
	if noPidfd(err) {
		if err := check(id); err != nil {
			return err
		}
		err = unix.Kill(id.PID, sig)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ESRCH):
		err = ErrGone
	}
	return &Error{Op: "signal", PID: id.PID, Err: err}
}

// withPidfd calls use with a pidfd of exactly this process. The start time is checked after the pidfd was opened, so it belongs
// to the process of the pidfd.
func withPidfd(id ID, use func(fd int) error) error {
	if id.PID < 1 {
		return errors.New("invalid pid")
	}
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		// Either the kernel does not support the flag, or the pid is now the ID of a thread.
		if fd, err = unix.PidfdOpen(id.PID, 0); err != nil {
			return threadOrError(id, err)
		}
	case err != nil:
		return err
	}
	defer unix.Close(fd)
	if err := check(id); err != nil {
		return err
	}
	return use(fd)
}

// threadOrError explains why no pidfd could be opened for a process: the process is gone, or err.
func threadOrError(id ID, err error) error {
	if statErr := check(id); statErr != nil {
		return statErr
	}
	return fmt.Errorf("open pidfd: %w", err)
}

// noPidfd reports whether the kernel or the sandbox does not support pidfds.
func noPidfd(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) && pidfdForbidden()
}

// pidfdForbidden reports whether this process cannot open any pidfd, not even its own, because a sandbox forbids it. If it returns
// false, an EPERM for another process means that this process must not signal that one.
func pidfdForbidden() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err == nil {
		unix.Close(fd)
	}
	return err != nil
}

// becomeSubreaper makes the calling process the parent of its orphaned descendants, also after it has changed its program.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// WaitGone waits until exactly this process has exited, and returns nil. A zombie has exited. If ctx ends first, it returns the
// cause of ctx. After any other error the state of the process is unknown. It uses no thread and no timer while it waits,
// except on kernels without pidfds, where it checks 20 times a second.
func WaitGone(ctx context.Context, id ID) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := withPidfd(id, func(fd int) error { return waitPidfd(ctx, fd) })
	switch {
	case errors.Is(err, ErrGone), errors.Is(err, unix.ESRCH):
		return nil
	case noPidfd(err):
		return waitByPolling(ctx, id)
	}
	return err
}

// waitPidfd waits in the poller of the Go runtime. It duplicates fd, because the file closes its descriptor.
func waitPidfd(ctx context.Context, fd int) error {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("duplicate pidfd: %w", err)
	}
	if err := unix.SetNonblock(dup, true); err != nil { // for kernels without PIDFD_NONBLOCK
		unix.Close(dup)
		return fmt.Errorf("wait on pidfd: %w", err)
	}
	file := os.NewFile(uintptr(dup), "pidfd")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return fmt.Errorf("wait on pidfd: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		// Unblocks the Read below. It cannot fail on a descriptor that the poller accepted.
		_ = file.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	err = conn.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		return err == nil && n > 0
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("wait on pidfd: %w", err)
	}
	return nil
}

// waitByPolling waits until the process has exited by checking it every maxPollInterval.
func waitByPolling(ctx context.Context, id ID) error {
	ticker := time.NewTicker(maxPollInterval)
	defer ticker.Stop()
	for {
		alive, err := Alive(id)
		if !alive || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// peerOf returns the user ID and process ID at the other end of a Unix socket.
func peerOf(socket int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}
