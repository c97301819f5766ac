package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
)

// dying is a Daemon that looks at a process which ends after some looks.
type dying struct {
	Daemon

	looks atomic.Int32
}

func (d *dying) Process(int) (func() bool, error) {
	return func() bool { return d.looks.Add(-1) < 0 }, nil
}

// TestAStopIsOverWhenTheProcessIs: a controller that does not answer any more
// may still hold the city's lock.
func TestAStopIsOverWhenTheProcessIs(t *testing.T) {
	root := t.TempDir()
	d := &dying{}
	d.looks.Store(5)
	a := &app{Base: viewAt(cmdenv.Env{Now: time.Now}), daemon: d}
	c := &client.Client{Root: root}
	defer c.Close()
	was := client.Controller{PID: os.Getpid()}
	if err := a.awaitGone(t.Context(), c, was, a.endOf(was)); err != nil || d.looks.Load() != -1 {
		t.Errorf("a stop ended with %v, and %d looks left", err, d.looks.Load())
	}
	blind := &app{Base: a.Base, daemon: absent{}}
	if err := blind.awaitGone(t.Context(), c, was, blind.endOf(was)); err != nil {
		t.Errorf("a stop that cannot see processes ended with %v", err)
	}
}

func TestAControllerThatDoesNotEndIsNamed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	a := &app{Base: viewAt(cmdenv.Env{Now: time.Now})}
	c := &client.Client{Root: t.TempDir()}
	defer c.Close()
	err := a.awaitGone(ctx, c, client.Controller{PID: 4711}, func() bool { return false })
	if !errors.Is(err, client.ErrTimeout) || !strings.Contains(err.Error(), "its process 4711 still runs") {
		t.Errorf("a stop ended with %v", err)
	}
}
