package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Signal sends a signal to exactly this process. The error is [ErrGone] if it is gone or a
// zombie, and then nothing was signalled; a recycled pid is never hit. It is
// [os.ErrPermission] (by errors.Is) for a process of another user.
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

// withPidfd calls use with a descriptor that stands for exactly this process. The order
// matters: a start time that is verified after the descriptor was opened belongs to
// the process behind the descriptor.
func withPidfd(id ID, use func(fd int) error) error {
	if id.PID < 1 {
		return errors.New("invalid pid")
	}
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		// Either a kernel that does not know the flag, or the pid is now a thread's.
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

func threadOrError(id ID, err error) error {
	if statErr := check(id); statErr != nil {
		return statErr
	}
	return fmt.Errorf("open pidfd: %w", err)
}

// noPidfd is true if the kernel or the sandbox has no pidfds.
func noPidfd(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) && pidfdForbidden()
}

// pidfdForbidden distinguishes a sandbox that forbids pidfds from a process that may not be
// signalled.
func pidfdForbidden() bool {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err == nil {
		unix.Close(fd)
	}
	return err != nil
}

// WaitGone blocks until exactly this process has ended (a zombie has) and returns nil, at
// once if it already has. Otherwise the error is the cause of ctx, or unknown. It uses
// no thread and no timer while it waits, except on kernels without pidfds, where it looks
// 20 times a second.
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

// waitPidfd waits in the poller of the Go runtime. The file gets its own descriptor.
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
		// Ends the Read below; it cannot fail on a descriptor that the poller accepted.
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

// PeerUID returns user and process at the other end of a Unix connection, as the kernel
// recorded them when it was made. The pid may have been recycled since.
func PeerUID(conn *net.UnixConn) (uid, pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, 0, fmt.Errorf("read peer credentials: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, credErr); err != nil {
		return -1, 0, fmt.Errorf("read peer credentials: %w", err)
	}
	return int(cred.Uid), int(cred.Pid), nil
}
