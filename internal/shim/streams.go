package shim

import (
	"errors"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"

	"gascity/internal/proc"
)

// streams are the two ends of an agent's terminal or pipes.
type streams struct {
	in       *os.File // what we write to; nil once closed
	out      *os.File // what we read from; the same as in for a terminal
	child    []*os.File
	terminal bool

	drained    chan struct{} // closed when out has ended
	lastOutput atomic.Int64  // unix nanoseconds
}

func openStreams(spec Spec) (*streams, error) {
	s := &streams{drained: make(chan struct{}), terminal: spec.Terminal}
	if spec.Terminal {
		master, slave, err := pty.Open()
		if err != nil {
			return nil, err
		}
		s.in, s.out, s.child = master, master, []*os.File{slave, slave, slave}
		return s, s.resize(spec.Cols, spec.Rows)
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

func (s *streams) resize(cols, rows int) error {
	return pty.Setsize(s.in, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
}

// start runs the command as the leader of a new session, with the terminal, if
// there is one, as its controlling terminal. It is not waited for here: the tree
// reaps it.
func (s *streams) start(spec Spec) (proc.ID, error) {
	path, err := exec.LookPath(spec.Argv[0])
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
	if err := s.closeChild(); err != nil {
		return proc.ID{}, err
	}
	info, err := proc.Stat(pid)
	if errors.Is(err, proc.ErrGone) {
		return proc.ID{PID: pid}, nil
	}
	return info.ID, err
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

func (s *streams) noteOutput() { s.lastOutput.Store(time.Now().UnixNano()) }

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
			if time.Since(time.Unix(0, s.lastOutput.Load())) >= drainQuiet {
				return
			}
		}
	}
}
