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
	"gascity/internal/terminal/inject"
)

// childStreams are the two ends of an agent's terminal or pipes.
type childStreams struct {
	in       *os.File // written by the shim
	out      *os.File // read by the shim; the same file as in for a terminal
	child    []*os.File
	terminal bool
	path     string // device file of the agent's end of the terminal; empty without a terminal

	followed   bool
	drained    chan struct{} // closed when out has no more output
	opened     time.Time
	lastOutput atomic.Int64 // time since opened
	handling   atomic.Bool  // output was read, and the function of Follow has not returned
}

// openStreams creates the terminal or the pipes for the command.
func openStreams(c *Spec) (*childStreams, error) {
	s := &childStreams{drained: make(chan struct{}), terminal: c.Terminal, opened: time.Now()}
	if c.Terminal {
		master, slave, err := openTerminal()
		if err != nil {
			return nil, err
		}
		s.in, s.out, s.child, s.path = master, master, []*os.File{slave, slave, slave}, slave.Name()
		if err := s.Resize(c.Cols, c.Rows); err != nil {
			return nil, errors.Join(err, s.Close())
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

// openTerminal opens a terminal whose controlling end is in non-blocking mode: reads and writes have deadlines and return when
// the file is closed. The library opens it in blocking mode.
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

// control calls do with the file descriptor of f. File.Fd would set blocking mode.
func control(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	err = raw.Control(func(fd uintptr) { done = do(int(fd)) })
	return errors.Join(err, done)
}

// Resize sets the size of the terminal.
func (s *childStreams) Resize(cols, rows int) error {
	return control(s.in, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
}

// Foreground returns the process group in the foreground of the terminal; 0 if that is unknown.
func (s *childStreams) Foreground() (group int) {
	if !s.terminal {
		return 0
	}
	_ = control(s.in, func(fd int) (err error) {
		if group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil {
			group = 0
		}
		return nil
	})
	return group
}

// HasOutput reports whether there is output of the program that was not read, or that the function of Follow
// still handles.
func (s *childStreams) HasOutput() bool {
	has := false
	err := control(s.out, func(fd int) error {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		has = err == nil && n > 0 && ready[0].Revents&unix.POLLIN != 0
		return nil
	})
	return err == nil && has || s.handling.Load() // asked last: output that is read between the two counts
}

// LineState returns the line mode of the terminal, and whether the program has read its input. The values come from the kernel
// and may change without any output. The zero value means that there is no terminal.
func (s *childStreams) LineState() inject.LineState {
	if s.path == "" {
		return inject.LineState{}
	}
	return inject.LineStateOf(s.path)
}

// Start starts the command as the leader of a new session; the terminal, if there is one, becomes its controlling terminal.
// Start does not wait for the process: the tree reaps it.
func (s *childStreams) Start(c *Spec) (proc.ID, error) {
	path, err := findProgram(c)
	if err != nil {
		return proc.ID{}, err
	}
	pid, err := syscall.ForkExec(path, c.Argv, &syscall.ProcAttr{
		Dir: c.Dir, Env: c.Env,
		Files: []uintptr{s.child[0].Fd(), s.child[1].Fd(), s.child[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: s.terminal, Ctty: 0},
	})
	if err != nil {
		return proc.ID{}, err
	}
	_ = s.closeChild() // the agent has its own copies; an error does not matter, because it runs
	info, err := proc.Stat(pid)
	if errors.Is(err, proc.ErrGone) {
		return proc.ID{PID: pid}, nil
	}
	if err != nil { // it runs, and is found by its parent process
		return proc.ID{PID: pid}, nil //nolint:nilerr // as said
	}
	return info.ID, nil
}

// findProgram returns the path of the program, searched in the PATH of the agent's environment: the shim itself has no PATH.
func findProgram(c *Spec) (string, error) {
	name := c.Argv[0]
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	list := proc.Getenv(c.Env, "PATH")
	for _, dir := range filepath.SplitList(list) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w of the agent's environment (%q)", name, exec.ErrNotFound, list)
}

// closeChild closes this process's copies of the agent's ends.
func (s *childStreams) closeChild() error {
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

// Close closes both ends and waits for the goroutine of [childStreams.Follow].
func (s *childStreams) Close() error {
	err := s.closeChild()
	if s.in != s.out {
		err = errors.Join(err, s.in.Close())
	}
	err = errors.Join(err, s.out.Close())
	if s.followed {
		<-s.drained
	}
	return err
}

// Follow starts a goroutine that calls the function each with all output. The goroutine stops at the end of the output or after Close. each
// must not use the slice after it returns. Follow must be called at most once.
func (s *childStreams) Follow(each func(p []byte)) {
	s.followed = true
	go func() {
		defer close(s.drained)
		buf := make([]byte, 32<<10)
		for {
			n, err := s.out.Read(buf)
			if n > 0 {
				s.handling.Store(true)
				each(buf[:n])
				s.handling.Store(false)
				s.lastOutput.Store(int64(time.Since(s.opened)))
			}
			if err != nil {
				return
			}
		}
	}()
}

// drainQuiet and drainLimit bound the wait for the last output when a process other than the agent keeps the terminal open.
const (
	drainQuiet = 50 * time.Millisecond
	drainLimit = time.Second
)

// Drain waits until the stream has ended, there was no output for drainQuiet, or drainLimit has passed.
func (s *childStreams) Drain() {
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
