package workers_test

import (
	"context"
	"fmt"
	"io"
	"net"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"

	"gascity/runtime"
	"gascity/worker"
)

// heap returns the used heap in bytes.
func heap() uint64 {
	goruntime.GC()
	goruntime.GC() // the second run frees pooled memory
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestUnreadPromptIsInMemoryOnce has workers that do not read long prompts. Each prompt is
// in memory once, in addition to the text of its sender.
func TestUnreadPromptIsInMemoryOnce(t *testing.T) {
	const workers, size = 16, 1 << 20
	r := newEngineTest(t, nil)
	var sent sync.WaitGroup
	defer sent.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	text := strings.Repeat("x", size)
	before := heap()
	for i := range workers {
		name := fmt.Sprint("w", i)
		env := r.start(name, "instance-of-"+name)
		c := clientOf(env)
		defer c.Close()
		for _, event := range []worker.Transition{worker.Started, worker.Ready} {
			r.must(c.Report(t.Context(), event, worker.Detail{}))
		}
		conn, err := new(net.Dialer).DialContext(t.Context(), "unix", r.path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "GET /stream HTTP/1.1\r\nHost: city\r\nAuthorization: Bearer %s\r\n\r\n", env["GC_WORKER_TOKEN"])
		if err == nil {
			_, err = io.ReadFull(conn, make([]byte, len("HTTP/1.1 200 OK")))
		}
		if err != nil {
			t.Fatal(err)
		}
		d := delivery("d-"+name, "instance-of-"+name, text)
		sent.Go(func() { _, _ = runtime.Deliver(ctx, r.now().provider, name, d) }) // it is not received
	}
	kept := uint64(0)
	r.eventually("every prompt is on its way", func() bool {
		kept = heap() - before
		return kept >= workers*size
	})
	for range 20 { // a handler may still write
		kept = max(kept, heap()-before)
	}
	if per := float64(kept) / (workers * size); per > 1.5 {
		t.Errorf("an unread prompt is kept %.1f times, want once", per)
	}
}
