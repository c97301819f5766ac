package process

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

// Command is what is run.
type Command struct {
	Argv       []string
	Dir        string
	Env        []string // complete, "K=V"
	Terminal   bool
	Cols, Rows int
}

// Streams are the two ends of an agent's terminal or pipes.
type Streams struct {
	in       *os.File // what we write to
	out      *os.File // what we read from; the same as in for a terminal
	child    []*os.File
	terminal bool
	path     string // of the agent's end of a terminal

	followed   bool
	drained    chan struct{} // closed when out has ended
	opened     time.Time
	lastOutput atomic.Int64 // time since opened
}

// Open makes the terminal or the pipes.
func Open(c Command) (*Streams, error) {
	s := &Streams{drained: make(chan struct{}), terminal: c.Terminal, opened: time.Now()}
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

// Resize sets the terminal's size.
func (s *Streams) Resize(cols, rows int) error {
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

// Start runs the command as the leader of a new session, with the terminal, if
// there is one, as its controlling terminal. It is not waited for here: the tree
// reaps it.
func (s *Streams) Start(c Command) (proc.ID, error) {
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

// findProgram finds the program as the agent's own shell would: the shim has no PATH.
func findProgram(c Command) (string, error) {
	name := c.Argv[0]
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	list := ""
	for _, entry := range c.Env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			list = value
		}
	}
	for _, dir := range filepath.SplitList(list) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w of the agent's environment (%q)", name, exec.ErrNotFound, list)
}

func (s *Streams) closeChild() error {
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

// Close closes both ends and waits for the goroutine of [Streams.Follow].
func (s *Streams) Close() error {
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

// Follow gives all output to each, in a goroutine that ends with the output or with
// Close. The slice is each's until it returns. It is called once, or never.
func (s *Streams) Follow(each func(p []byte)) {
	s.followed = true
	go func() {
		defer close(s.drained)
		buf := make([]byte, 32<<10)
		for {
			n, err := s.out.Read(buf)
			if n > 0 {
				each(buf[:n])
				s.lastOutput.Store(int64(time.Since(s.opened)))
			}
			if err != nil {
				return
			}
		}
	}()
}

// drainQuiet and drainLimit bound the wait for last words when some process that
// is not the agent keeps the terminal open.
const (
	drainQuiet = 50 * time.Millisecond
	drainLimit = time.Second
)

// Drain waits until all output has been read: the end of the stream, or quiet.
func (s *Streams) Drain() {
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
