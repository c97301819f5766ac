package shim

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"gascity/internal/proc"
)

// streams are the two ends of an agent's terminal or pipes.
type streams struct {
	in       *os.File // what we write to
	out      *os.File // what we read from; the same as in for a terminal
	child    []*os.File
	terminal bool

	drained    chan struct{} // closed when out has ended
	opened     time.Time
	lastOutput atomic.Int64 // time since opened
}

func openStreams(spec Spec) (*streams, error) {
	s := &streams{drained: make(chan struct{}), terminal: spec.Terminal, opened: time.Now()}
	if spec.Terminal {
		master, slave, err := openTerminal()
		if err != nil {
			return nil, err
		}
		s.in, s.out, s.child = master, master, []*os.File{slave, slave, slave}
		if err := s.resize(spec.Cols, spec.Rows); err != nil {
			return nil, errors.Join(err, s.close())
		}
		return s, nil
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), in.Close())
	}
	s.in, s.out, s.child = in, out, []*os.File{stdin, stdout, stdout}
	return s, nil
}

// openTerminal opens a terminal whose controlling end can be polled: a read or
// write on it ends when the file is closed, and obeys deadlines. The library leaves
// it blocking.
func openTerminal() (master, slave *os.File, err error) {
	blocking, slave, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer blocking.Close()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, nil, errors.Join(err, slave.Close())
	}
	return os.NewFile(uintptr(fd), "terminal"), slave, nil
}

func (s *streams) resize(cols, rows int) error {
	raw, err := s.in.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) { // File.Fd would make it blocking
		set = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
	return errors.Join(err, set)
}

// start runs the command as the leader of a new session, with the terminal, if
// there is one, as its controlling terminal. It is not waited for here: the tree
// reaps it.
func (s *streams) start(spec Spec) (proc.ID, error) {
	path, err := lookPath(spec)
	if err != nil {
		return proc.ID{}, err
	}
	pid, err := syscall.ForkExec(path, spec.Argv, &syscall.ProcAttr{
		Dir: spec.Dir, Env: spec.Env,
		Files: []uintptr{s.child[0].Fd(), s.child[1].Fd(), s.child[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: s.terminal, Ctty: 0},
	})
	if err != nil {
		return proc.ID{}, err
	}
	_ = s.closeChild() // the agent has its own; it runs, and that is what counts
	info, err := proc.Stat(pid)
	if errors.Is(err, proc.ErrGone) {
		return proc.ID{PID: pid}, nil
	}
	if err != nil { // it runs, and will be found by its parent
		return proc.ID{PID: pid}, nil //nolint:nilerr // as said
	}
	return info.ID, nil
}

// lookPath finds the program as the agent's own shell would: the shim has no PATH.
func lookPath(spec Spec) (string, error) {
	name := spec.Argv[0]
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	for _, entry := range spec.Env {
		list, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s: %w of the agent's environment", name, exec.ErrNotFound)
}

func (s *streams) closeChild() error {
	var errs []error
	for i, f := range s.child {
		if i > 0 && f == s.child[i-1] {
			continue
		}
		errs = append(errs, f.Close())
	}
	s.child = nil
	return errors.Join(errs...)
}

func (s *streams) close() error {
	err := s.closeChild()
	if s.in != s.out {
		err = errors.Join(err, s.in.Close())
	}
	return errors.Join(err, s.out.Close())
}

func (s *streams) noteOutput() { s.lastOutput.Store(int64(time.Since(s.opened))) }

// drainQuiet and drainLimit bound the wait for last words when some process that
// is not the agent keeps the terminal open.
const (
	drainQuiet = 50 * time.Millisecond
	drainLimit = time.Second
)

// drain waits until all output has been read: the end of the stream, or quiet.
func (s *streams) drain() {
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	quiet := time.NewTicker(drainQuiet)
	defer quiet.Stop()
	for {
		select {
		case <-s.drained:
			return
		case <-limit.C:
			return
		case <-quiet.C:
			if time.Since(s.opened)-time.Duration(s.lastOutput.Load()) >= drainQuiet {
				return
			}
		}
	}
}
