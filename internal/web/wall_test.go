package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/citytest"
)

// wall is a viewer of the wall of screens, as a page of the fleet has one.
type wall struct {
	targets int
	resume  chan struct{} // an element makes a stopped viewer read again

	mu      sync.Mutex
	mark    string          // guarded by mu
	seen    map[string]bool // targets whose screen shows the mark; guarded by mu
	stopped bool            // guarded by mu
}

// openWall opens a stream of the screens of the targets. It is read until ctx ends.
func (b *browser) openWall(ctx context.Context, reading *sync.WaitGroup, targets []string) *wall {
	b.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+"/api/v1/screens?"+url.Values{"target": targets}.Encode(), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	as(b)(req)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		b.t.Fatalf("the wall answers %s", res.Status)
	}
	w := &wall{targets: len(targets), resume: make(chan struct{}, 1), seen: map[string]bool{}}
	reading.Go(func() {
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(make([]byte, 0, 16<<10), 1<<20)
		for lines.Scan() {
			if w.handle(lines.Text()) {
				select {
				case <-w.resume:
				case <-ctx.Done():
				}
			}
		}
	})
	return w
}

// handle handles one line of the stream. It reports whether the viewer is stopped.
func (w *wall) handle(line string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, rest, ok := strings.Cut(line, `"target":"`); ok && strings.Contains(line, w.mark) {
		target, _, _ := strings.Cut(rest, `"`)
		w.seen[target] = true
	}
	return w.stopped
}

// expect makes the viewer wait for a mark on all screens.
func (w *wall) expect(mark string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mark = mark
	clear(w.seen)
}

// complete reports whether all screens show the mark.
func (w *wall) complete() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen) == w.targets
}

// stop makes the viewer read no more, or again.
func (w *wall) stop(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped = yes; !yes {
		w.resume <- struct{}{}
	}
}

// maxWallViewer is the largest memory of one viewer of a wall of 50 screens, in bytes. The test's own client is included.
const maxWallViewer = 1 << 20

// A viewer of the wall costs a constant amount of memory of the controller: as the first so the hundredth, and after much output as
// before it, also if it does not read.
func TestMemoryOfAViewerOfTheWall(t *testing.T) {
	const agents, devices = 50, 10
	var config strings.Builder
	config.WriteString("[daemon]\nshutdown_timeout = \"50ms\"\nmax_wakes_per_tick = 50\n")
	var names []string
	for i := range agents {
		names = append(names, fmt.Sprintf("worker-%02d", i))
		fmt.Fprintf(&config, "[[agents]]\nname = %q\nstart_command = \"fake_agent\"\n", names[i])
	}
	city := citytest.New(t, config.String())
	sessions := map[string]string{}
	for _, name := range names {
		sessions[name] = city.AwaitRunning(name, "idle").Session
	}
	var own []*browser
	for range devices {
		own = append(own, signIn(t, city, client.ScopeSee))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	var viewers []*wall
	marks := 0
	// output makes all agents print some lines, and waits until the viewers show the last one.
	output := func(rounds int, shown []*wall) {
		t.Helper()
		for range rounds {
			marks++
			mark := fmt.Sprintf("mark-%d-", marks)
			for _, v := range shown {
				v.expect(mark)
			}
			for _, session := range sessions {
				city.Agents.Print(session, strings.Repeat("a line of output\n", 20)+"\x1b[3"+fmt.Sprint(marks%8)+"m"+mark+"\x1b[m\n")
			}
			city.Until("the walls show "+mark, func(context.Context) bool {
				for _, v := range shown {
					if !v.complete() {
						return false
					}
				}
				return true
			})
		}
		for _, session := range sessions {
			if err := city.Agents.ClearScrollback(session); err != nil { // the model agents keep their output
				t.Fatal(err)
			}
		}
	}
	counts := []int{1, 20, 100}
	used := map[int]int64{}
	for _, count := range counts {
		for len(viewers) < count {
			viewers = append(viewers, own[len(viewers)%devices].openWall(ctx, &reading, names))
		}
		output(2, viewers)
		used[count] = memory()
	}
	for i, count := range counts[1:] {
		each := (used[count] - used[counts[i]]) / int64(count-counts[i])
		t.Logf("each of the viewers %d to %d costs %d KB", counts[i]+1, count, each>>10)
		if each > maxWallViewer {
			t.Errorf("each of the viewers %d to %d costs %d KB, want at most %d", counts[i]+1, count, each>>10, maxWallViewer>>10)
		}
	}
	half := len(viewers) / 2
	for _, v := range viewers[:half] {
		v.stop(true)
	}
	begun := time.Now()
	output(20, viewers[half:])
	after := memory()
	grown := (after - used[100]) / int64(len(viewers))
	t.Logf("after 20 changes of each screen in %v, half of the viewers stopped, each viewer costs %d KB more", time.Since(begun).Round(time.Millisecond), grown>>10)
	if grown > maxWallViewer/8 {
		t.Errorf("20 changes of each screen make each viewer grow by %d KB", grown>>10)
	}
	for _, v := range viewers[:half] {
		v.stop(false)
	}
	output(1, viewers) // those that were stopped show the newest screens
}
