package remote_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/internal/driver/remote"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// fakeSessions has sessions that are called by what they do: "busy" for ever, "ending" until it is waited for,
// "idle".
type fakeSessions struct {
	runtime.Provider

	mu    sync.Mutex
	done  []string
	stops chan struct{} // one for each call of Stop
	stop  chan struct{} // closed when Stop may return
}

func (p *fakeSessions) record(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, fmt.Sprintf(format, args...))
}

func (p *fakeSessions) of(name string) []string {
	return slices.DeleteFunc(slices.Clone(p.done), func(s string) bool { return !strings.HasPrefix(s, name+" ") })
}

func (*fakeSessions) ListRunning(string) ([]string, error) {
	return []string{"busy", "ending", "idle"}, nil
}

func (*fakeSessions) Sense(_ context.Context, name string) (runtime.Reading, error) {
	activity := runtime.ActivityBusy
	if name == "idle" {
		activity = runtime.ActivityIdle
	}
	return runtime.Reading{Evidence: []runtime.Evidence{{Source: runtime.SourceScreen, Activity: activity}}}, nil
}

func (p *fakeSessions) WaitForIdle(_ context.Context, name string, limit time.Duration) error {
	p.record("%s waits %v", name, limit)
	if name == "busy" {
		return context.DeadlineExceeded
	}
	return nil
}

func (p *fakeSessions) Interrupt(name string) error {
	p.record("%s interrupted", name)
	return nil
}

func (p *fakeSessions) Stop(name string) error {
	p.record("%s stopped", name)
	p.stops <- struct{}{}
	<-p.stop
	return nil
}

// A turn has its time to end, is interrupted when it takes longer, and a session that takes no
// interrupts is not waited for.
func TestFarewell(t *testing.T) {
	for grace, want := range map[time.Duration]map[string][]string{
		30 * time.Second: {
			"busy":   {"busy waits 20s", "busy interrupted", "busy waits 3s", "busy stopped"},
			"ending": {"ending waits 20s", "ending stopped"},
			"idle":   {"idle stopped"},
		},
		9 * time.Second: {
			"busy": {"busy interrupted", "busy waits 2s", "busy stopped"},
			"idle": {"idle stopped"},
		},
		time.Second: {"busy": {"busy stopped"}, "ending": {"ending stopped"}, "idle": {"idle stopped"}},
	} {
		p := &fakeSessions{Provider: fake.New(), stops: make(chan struct{}), stop: make(chan struct{})}
		ended := make(chan error, 1)
		go func() { ended <- remote.StopAll(t.Context(), p, grace) }()
		for range 3 { // all are ended at once: none has returned
			select {
			case <-p.stops:
			case <-time.After(20 * time.Second):
				t.Fatalf("they are not ended at once: %q", p.done)
			}
		}
		close(p.stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for name, did := range want {
			if got := p.of(name); !slices.Equal(got, did) {
				t.Errorf("with %v: %q, want %q", grace, got, did)
			}
		}
	}
}
