package fakeagent

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gascity/internal/fakeagent/ledger"
)

// stuckAfter is how long the loop may take to exit after a signal. It may be blocked in a write to a terminal that is not read.
const stuckAfter = time.Second

// watchSignals sends signals to the loop, and exits the process if the loop does not.
func watchSignals(m *modes, b *ledgerFile) chan os.Signal {
	raw := make(chan os.Signal, 16)
	signal.Notify(raw, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT,
		syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGUSR1, syscall.SIGUSR2)
	toLoop := make(chan os.Signal, 64)
	go func() {
		for s := range raw {
			if (s == syscall.SIGTERM && !m.ignoreTerm) || (s == syscall.SIGHUP && !m.ignoreHup) {
				time.AfterFunc(stuckAfter, func() {
					b.exit(ledger.Record{Reason: s.String() + ", stuck in a write"}, nil)
					os.Exit(0)
				})
			}
			select {
			case toLoop <- s:
			default: // the loop has 64 unread signals; one more makes no difference
			}
		}
	}()
	return toLoop
}

// receive handles a signal in the loop.
func (a *agent) receive(s os.Signal) {
	if s == syscall.SIGWINCH {
		a.resized()
		return
	}
	name := s.String()
	if number, ok := s.(syscall.Signal); ok {
		name = unix.SignalName(number)
	}
	record := ledger.Record{Kind: ledger.Signal, Signal: name}
	ignored := s == syscall.SIGTERM && a.m.ignoreTerm || s == syscall.SIGHUP && a.m.ignoreHup
	if ignored {
		record.Reason = "ignored"
	}
	a.ledger.write(record)
	a.dirty = true
	switch s {
	case syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		if !ignored {
			a.leave(0, name)
		}
	case syscall.SIGINT:
		a.handle(inputEvent{Kind: keyEvent, Key: "c-c"}, time.Now())
	}
}

// resized handles a change of the terminal's size.
func (a *agent) resized() {
	if a.m.plain {
		return
	}
	rows, cols := a.rows, a.cols
	a.measure()
	if rows == a.rows && cols == a.cols {
		return
	}
	a.ledger.write(ledger.Record{Kind: ledger.Resize, Rows: a.rows, Cols: a.cols})
	a.display.resize(a.rows, a.cols)
	a.dirty = true
}
