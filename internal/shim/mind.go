package shim

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gascity/internal/shim/folder"
)

// defaultSignals gives the agent signals in their default state, whatever the
// starter ignored: exec resets a signal that is handled, not one that is ignored.
// The shim itself takes no notice of them. A closed pipe is an error of the write,
// also on the standard output.
func defaultSignals() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT)
}

const (
	mindEvery  = 2 * time.Minute // hundreds of shims look, each look wakes a process, and inotify has fewer instances than that
	touchEvery = time.Hour
)

// mind looks after the folder until ctx ends. A session whose folder was removed
// ends: nobody could find it any more, and another of its name would be started
// beside it. A socket that was removed alone is made again. The files are touched
// now and then: cleaners of temporary folders remove what looks old.
func (h *host) mind(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(h.spec.MindEvery, mindEvery))
	defer tick.Stop()
	touched := time.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if folder.Gone(h.dir.Lock()) {
			h.closing(errRemoved)
			return
		}
		if folder.Gone(h.dir.Sock()) {
			h.reopen()
		}
		if time.Since(touched) > touchEvery {
			touched = time.Now()
			h.dir.Touch(touched)
		}
	}
}

func (h *host) reopen() {
	listener, err := listen(h.dir.Sock())
	if err != nil {
		fmt.Fprintln(os.Stderr, "shim: cannot make the socket again:", err)
		return
	}
	h.server.accept(listener)
}
