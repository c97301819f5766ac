package web_test

import (
	"bufio"
	"context"
	"net/http"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/citytest"
)

// memory returns the memory in use, in bytes, after a collection: the heap and the stacks.
func memory() int64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse) //nolint:gosec // far below the limit
}

// openStream opens the event stream as an idle tab does, and returns when it answers. It is open
// until the test ends.
func (b *browser) openStream(ctx context.Context) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+"/api/v1/events/stream?after=0", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	as(b)(req)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		b.t.Fatalf("the stream answers %s", res.Status)
	}
	if _, err := bufio.NewReaderSize(res.Body, 256).ReadString('\n'); err != nil {
		b.t.Fatal(err)
	}
}

// An idle tab costs less than 1 MB of memory of the controller, the test's own client included.
func TestMemoryOfAnIdleTab(t *testing.T) {
	const devices, streams = 10, 10
	city := citytest.New(t, cityConfig)
	city.AwaitRunning("worker")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var own []*browser
	for range devices {
		own = append(own, signIn(t, city, client.ScopeType))
	}
	own[0].openStream(ctx)
	before := memory()
	for _, b := range own {
		for range streams {
			b.openStream(ctx)
		}
	}
	each := (memory() - before) / (devices * streams)
	t.Logf("an idle tab costs %d KB", each>>10)
	if each > 1<<20 {
		t.Errorf("an idle tab costs %d KB, want at most 1024", each>>10)
	}
}

// A city with the web console and no viewer uses less than 1% of a core, and the console has no
// goroutine but those of its listener.
func TestIdleCostWithoutAViewer(t *testing.T) {
	city := citytest.New(t, cityConfig)
	city.AwaitRunning("worker")
	if _, err := city.Client.StartWeb(t.Context(), client.WebRequest{Listen: "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	var stacks string
	city.Until("the listener is idle", func(context.Context) bool {
		text := make([]byte, 4<<20)
		stacks = string(text[:goruntime.Stack(text, true)])
		return strings.Count(stacks, "net/http.(*conn).serve") <= 2 // of the control socket
	})
	count := 0
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		if strings.Contains(stack, "gascity/internal/web.") && !strings.Contains(stack, "web_test.") {
			count++
		}
	}
	if count > 3 {
		t.Errorf("the console has %d goroutines without a viewer", count)
	}
	const wait = 3 * time.Second
	share := 1.0
	for range 4 { // what a timer or a poll costs is in each period; the end of the start-up only in the first ones
		before := processorTime(t)
		<-time.After(wait) // measures; nothing is awaited
		share = min(share, float64(processorTime(t)-before)/float64(wait))
		if share <= .01 {
			break
		}
	}
	t.Logf("%d goroutines, %.2f%% of a core", count, 100*share)
	if share > .01 {
		t.Errorf("a city with the web console and no viewer uses %.2f%% of a core, want at most 1%%", 100*share)
	}
}

// processorTime returns the time that this process has used on processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
