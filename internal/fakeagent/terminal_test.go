package fakeagent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/build"
	"gascity/test/fakeagent/ledgertest"
)

const patience = 30 * time.Second

// session is a fake agent on a real pseudo terminal.
type session struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	slave  *os.File // kept open, so that the terminal outlives the agent
	ledger string
	stderr strings.Builder
	done   chan struct{}

	mu   sync.Mutex
	seen strings.Builder // everything that was painted
}

// play starts an agent that writes a ledger. It is ended after the test.
func play(t *testing.T, args ...string) *session {
	t.Helper()
	return playPaused(t, nil, args...)
}

// playPaused is play with a terminal that is not read before start is closed.
func playPaused(t *testing.T, start chan struct{}, args ...string) *session {
	t.Helper()
	s := &session{t: t, ledger: filepath.Join(t.TempDir(), "ledger"), done: make(chan struct{})}
	s.open()
	s.resize(40, 120)
	args = append([]string{"--ledger", s.ledger, "--max-life", "3m"}, args...)
	s.cmd = exec.Command(build.Build(t), args...)
	s.cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.slave, s.slave, &s.stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.cmd.WaitDelay = time.Second
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		_ = s.cmd.Wait() // exit reads the state
	}()
	go s.record(start)
	t.Cleanup(s.end)
	return s
}

// open makes the terminal. The master is read through the poller, so that closing it
// ends a read; package pty would leave it blocking.
func (s *session) open() {
	s.t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		s.t.Fatal(err)
	}
	defer master.Close()
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.master, s.slave = os.NewFile(uintptr(fd), "master"), slave
}

func (s *session) resize(rows, cols uint16) {
	s.t.Helper()
	conn, err := s.master.SyscallConn()
	if err != nil {
		s.t.Fatal(err)
	}
	controlErr := conn.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
	if err := errors.Join(controlErr, err); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) record(start chan struct{}) {
	if start != nil {
		<-start
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.seen.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// end kills what is left, the helpers too, and checks that the ledger has no gap.
func (s *session) end() {
	s.cmd.Process.Kill()
	records, err := ledger.Read(s.ledger)
	if err == nil {
		err = ledger.Verify(records)
	}
	if err != nil {
		s.t.Error(err)
	}
	for _, r := range records {
		if r.Kind == ledger.Spawn {
			syscall.Kill(r.PIDs[0], syscall.SIGKILL)
		}
		if r.Kind == ledger.Start && r.Run != s.cmd.Process.Pid {
			syscall.Kill(r.Run, syscall.SIGKILL)
		}
	}
	s.slave.Close()
	s.master.Close()
	if s.t.Failed() {
		s.t.Logf("screen output: %q", clip(s.output(), 8000))
		s.t.Logf("ledger: %+v", records)
	}
}

func (s *session) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// send types bytes as they are.
func (s *session) send(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) paste(text string) {
	s.t.Helper()
	s.send(pasteStart + text + pasteEnd)
}

// until waits for the ledger.
func (s *session) until(what string, pred func([]ledger.Record) bool) []ledger.Record {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	records, err := ledgertest.Wait(ctx, s.ledger, pred)
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	return records
}

// wait waits for the nth record of a kind and returns it.
func (s *session) wait(kind string, n int) ledger.Record {
	s.t.Helper()
	return ledger.Of(s.until(kind, ledgertest.Has(kind, n)), kind)[n-1]
}

func (s *session) ready() *session { s.t.Helper(); s.wait(ledger.Ready, 1); return s }

// painted waits until the output contains all texts.
func (s *session) painted(texts ...string) {
	s.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(patience)
	for _, text := range texts {
		for !strings.Contains(s.output(), text) {
			if time.Now().After(deadline) {
				s.t.Fatalf("%q was not painted", text)
			}
			<-tick.C
		}
	}
}

// exit waits for the end and returns the exit code, -1 for a signal.
func (s *session) exit() int {
	s.t.Helper()
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		s.t.Fatal("the agent did not exit")
		return 0
	}
}

func (s *session) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.wait(ledger.Start, 1).Run, sig); err != nil {
		s.t.Fatal(err)
	}
}

// quiet is a span in which nothing must happen.
func quiet() { <-time.After(120 * time.Millisecond) }

const enter = "\r"
