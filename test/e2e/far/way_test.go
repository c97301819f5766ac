package far_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// A slow connection has a round trip of 200 ms. Each twentieth packet is lost: it arrives after a repetition,
// and later packets after it, as with TCP.
const (
	oneWay = 100 * time.Millisecond
	resent = 250 * time.Millisecond
	lost   = 20
)

// slow forwards to the port over a slow connection, and returns the local port.
func slow(t *testing.T, port int) int {
	t.Helper()
	listener := must(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	var work sync.WaitGroup
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		cancel()
		listener.Close()
		work.Wait()
	})
	work.Go(func() {
		for {
			here, err := listener.Accept()
			if err != nil {
				return
			}
			there, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				here.Close()
				continue
			}
			stop := context.AfterFunc(ctx, func() { here.Close(); there.Close() })
			var both sync.WaitGroup
			both.Go(func() { travel(there, here) })
			both.Go(func() { travel(here, there) })
			work.Go(func() { both.Wait(); stop(); here.Close(); there.Close() })
		}
	})
	return listener.Addr().(*net.TCPAddr).Port
}

type packet struct {
	data []byte
	due  time.Time
}

// travel forwards bytes in one direction, each packet after its delay, in order.
func travel(to io.Writer, from io.Reader) {
	way := make(chan packet, 4096)
	var work sync.WaitGroup
	work.Go(func() {
		for p := range way {
			<-time.After(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				for range way { // the sender finds out by itself
				}
				return
			}
		}
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			half.CloseWrite() //nolint:errcheck // it is closed
		}
	})
	var due time.Time
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			at := time.Now().Add(oneWay)
			if rand.IntN(lost) == 0 {
				at = at.Add(resent)
			}
			if at.After(due) {
				due = at // else it waits for the one before it
			}
			way <- packet{append([]byte{}, buf[:n]...), due}
		}
		if err != nil {
			close(way)
			work.Wait()
			return
		}
	}
}

// A third of the contract over a slow connection that loses packets.
func TestSlowConnection(t *testing.T) {
	t.Parallel()
	skip := map[string]string{}
	for i, c := range runtimetest.Cases() {
		if i%3 != 0 {
			skip[c.ID] = "tried by the short way"
		}
	}
	conform(t, newSSHServer(t, options{delay: true}), skip)
}

// An observation of fifty sessions takes about one round trip.
func TestManyObservationsOverASlowConnection(t *testing.T) {
	f := newSSHServer(t, options{delay: true})
	s := f.provider(t)
	if err := s.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	const sessions = 50
	var work sync.WaitGroup
	for i := range sessions {
		work.Go(func() {
			if err := s.Start(t.Context(), fmt.Sprint("s", i), runtime.Config{Command: "exec sleep 600", WorkDir: f.dir}); err != nil {
				t.Errorf("Start: %v", err)
			}
		})
	}
	work.Wait()
	sweep := func() time.Duration {
		began := time.Now()
		for i := range sessions {
			work.Go(func() {
				if o, err := s.Observe(t.Context(), fmt.Sprint("s", i)); err != nil || o.Agent != runtime.Alive {
					t.Errorf("Observe = %s, %v, want alive", o.Agent, err)
				}
			})
		}
		work.Wait()
		return time.Since(began)
	}
	best := min(sweep(), sweep(), sweep(), sweep(), sweep())
	t.Logf("the best of 5 sweeps of %d sessions took %s, a round trip takes %s", sessions, best, 2*oneWay)
	if best > sessions/4*2*oneWay {
		t.Errorf("a sweep took %s: more than a round trip for each fourth session", best)
	}
}
