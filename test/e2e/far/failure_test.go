package far_test

import (
	"context"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/runtime"
)

// A start whose connection is lost fails as unavailable and leaves nothing on the host.
func TestConnectionLostDuringAStart(t *testing.T) {
	f := newSSHServer(t, options{})
	s := f.provider(t)
	if err := s.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- s.Start(t.Context(), s.name, s.agent("--hang")) }()
	s.await(ledger.Start, 1)
	f.killConnections()
	if err := <-ended; !errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("Start over a cut link = %v, want unavailable", err)
	}
	until(t, "the start was taken back", func() bool {
		o, err := s.Observe(t.Context(), s.name)
		return err == nil && o.Session == runtime.Dead
	})
	s.start("")
}

// The connection is lost during a delivery. Settle then reports what the agent really got.
func TestConnectionLostDuringADelivery(t *testing.T) {
	f := newSSHServer(t, options{})
	s := f.provider(t)
	s.start("")
	consumed := 0
	for i, pause := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 150 * time.Millisecond} {
		if err := s.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		d := runtime.Delivery{ID: strings.Repeat("i", i+1), Content: runtime.TextContent("prompt " + strings.Repeat("x", i*1000))}
		timer := time.AfterFunc(pause, func() { f.killConnections() })
		out, err := s.Deliver(t.Context(), s.name, d)
		timer.Stop()
		if err != nil && !errors.Is(err, runtime.ErrRuntimeUnavailable) {
			t.Errorf("Deliver cut after %s = %+v, %v", pause, out, err)
		}
		if out.State == runtime.OutcomeUnconfirmed {
			until(t, "it is settled", func() bool {
				out, err = s.Settle(t.Context(), s.name, d)
				return err == nil
			})
		}
		if out.State == runtime.OutcomeSubmitted {
			consumed++
		}
		if out.State == runtime.OutcomeUnconfirmed {
			t.Errorf("the prompt cut after %s stays %+v, %v", pause, out, err)
		}
		if got := s.await(ledger.Prompt, consumed); len(got) != consumed {
			t.Errorf("after a cut at %s the agent has %d prompts, reported were %d: %+v", pause, len(got), consumed, out)
		}
	}
	o, err := s.Observe(t.Context(), s.name)
	if err != nil || o.Agent != runtime.Alive {
		t.Errorf("Observe after all = %s, %v, want alive", o.Agent, err)
	}
}

// A stop whose connection is lost fails as unavailable, and is completed on the host.
func TestConnectionLostDuringAStop(t *testing.T) {
	f := newSSHServer(t, options{})
	s := f.provider(t)
	s.start("--ignore-sigterm")
	ended := make(chan error)
	go func() { ended <- s.Stop(s.name) }()
	s.await(ledger.Signal, 1)
	f.killConnections()
	if err := <-ended; !errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("Stop over a cut link = %v, want unavailable", err)
	}
	until(t, "it is stopped", func() bool {
		o, err := s.Observe(t.Context(), s.name)
		return err == nil && o.Session == runtime.Dead
	})
}

// A watcher gets a resync after a lost connection, and then new events. The sessions continue as the same
// instances, also if the sshd is killed.
func TestConnectionLostDuringAWatch(t *testing.T) {
	f := newSSHServer(t, options{})
	s := f.provider(t)
	s.start("")
	before, err := s.Observe(t.Context(), s.name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	events, err := s.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	await := func(kind runtime.EventKind) {
		t.Helper()
		timeout := time.After(waitLimit)
		for {
			select {
			case e := <-events:
				if e.Kind == kind {
					return
				}
			case <-timeout:
				t.Fatalf("no event %s", kind)
			}
		}
	}
	await(runtime.EventResync)
	f.down()
	f.killConnections()
	until(t, "it says why there is no link", func() bool {
		o, err := s.Observe(t.Context(), s.name)
		if !errors.Is(err, runtime.ErrRuntimeUnavailable) || o.Session != runtime.Unknown {
			t.Fatalf("Observe without an sshd = %+v, %v, want unknown and unavailable", o, err)
		}
		return strings.Contains(err.Error(), "refused")
	})
	f.serve(t, must(sshdPath()))
	await(runtime.EventResync)
	after, err := s.Observe(t.Context(), s.name)
	if err != nil || after.Agent != runtime.Alive || after.InstanceToken != before.InstanceToken {
		t.Errorf("Observe after a cut = %+v, %v, want the same one alive", after, err)
	}
	if err := s.Stop(s.name); err != nil {
		t.Error(err)
	}
	await(runtime.EventGone)
	cancel()
	for range events {
	}
}

// An obstacle on the host makes the state unknown, never gone, and is reported with its fix.
func TestObstaclesOnTheHost(t *testing.T) {
	for name, c := range map[string]struct {
		o    options
		edit func(t *testing.T, f *sshServer)
		want string
	}{
		"unknown host key": {edit: func(t *testing.T, f *sshServer) { f.write(t, "known", "") }, want: "connect once by hand"},
		"changed host key": {edit: func(t *testing.T, f *sshServer) {
			known := string(must(os.ReadFile(filepath.Join(f.dir, "known"))))
			at, _, _ := strings.Cut(known, " ")
			f.write(t, "known", at+" "+string(must(os.ReadFile(filepath.Join(f.dir, "user.pub")))))
		}, want: "ssh-keygen -R"},
		"wrong key":       {edit: func(t *testing.T, f *sshServer) { f.write(t, "authorized", "") }, want: "ssh agent"},
		"no listener":     {edit: func(_ *testing.T, f *sshServer) { f.down() }, want: "refused"},
		"no such host":    {o: options{ssh: " ProxyCommand false\n"}, want: "ssh: "},
		"not writable":    {o: options{cache: "/proc/no"}, want: "cannot copy gc"},
		"no room for gc":  {o: options{cache: "disk"}, want: "No space left"},
		"no room to talk": {o: options{sshd: "ForceCommand exit 3\n"}, want: "no outpost answered"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.o.cache == "disk" {
				c.o.cache = smallDisk(t)
			}
			f := newSSHServer(t, c.o)
			if c.edit != nil {
				c.edit(t, f)
			}
			s := f.provider(t)
			o, err := s.Observe(t.Context(), s.name)
			if !errors.Is(err, runtime.ErrRuntimeUnavailable) || o.Session != runtime.Unknown || o.Agent != runtime.Unknown {
				t.Fatalf("Observe = %+v, %v, want unknown and unavailable", o, err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error does not say %q: %v", c.want, err)
			}
			t.Log(err)
		})
	}
}

// smallDisk returns a folder on a disk of 1 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := must(os.MkdirTemp("", "gcdisk")) //nolint:usetesting // it is unmounted first
	t.Cleanup(func() { _ = os.Remove(dir) })
	if out, err := osexec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be mounted: %s", out)
	}
	t.Cleanup(func() {
		if out, err := osexec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	return dir
}

// An sshd that allows one session for each connection is enough.
func TestOneSessionForEachConnection(t *testing.T) {
	f := newSSHServer(t, options{sshd: "MaxSessions 1\n"})
	s := f.provider(t)
	s.start("")
	if out, err := s.Deliver(t.Context(), s.name, runtime.Delivery{ID: "1", Content: runtime.TextContent("hello")}); err != nil || out.State != runtime.OutcomeSubmitted {
		t.Errorf("Deliver = %+v, %v, want it submitted", out, err)
	}
}

// The error of a missing agent program has the search path of the host.
func TestMissingAgentProgram(t *testing.T) {
	f := newSSHServer(t, options{sshd: ""})
	s := f.provider(t)
	cfg := s.agent("")
	cfg.Command = "no-such-agent --flag"
	err := s.Start(t.Context(), s.name, cfg)
	if err == nil || !strings.Contains(err.Error(), "no-such-agent") {
		t.Fatalf("Start of an agent that is not there = %v, want an error that names it", err)
	}
	t.Log(err)
}
