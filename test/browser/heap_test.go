package browser

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	gcruntime "gascity/runtime"
	"gascity/test/citytest"
)

// replay is how much time of a busy city TestHeapIsSteady replays, at 10 events a second. By hand:
// go test ./test/browser -run HeapIsSteady -replay 30m
var replay = flag.Duration("replay", 3*time.Minute, "the time of a busy city that TestHeapIsSteady replays")

// feed is a script that replaces the event stream of the page by one that window.feed writes.
const feed = `(() => {
	const real = window.fetch, encoder = new TextEncoder();
	let id = 1e6, round = 0;
	window.fetch = (path, options) => {
		if (!String(path).includes('/events/stream')) return real(path, options);
		return Promise.resolve(new Response(new ReadableStream({ start(to) { window.feedTo = to; } }), { status: 200 }));
	};
	const event = (kind, text, data) => {
		const value = { id: ++id, kind, time: new Date().toISOString(), agent: 'writer', session: 'writer', text: text + ' ' + id, data };
		window.feedTo.enqueue(encoder.encode('event: event\nid: ' + id + '\ndata: ' + JSON.stringify(value) + '\n\n'));
	};
	const filler = 'a line of a text that an agent wrote, number ';
	window.feed = async (n) => {
		for (let i = 0; i < n; i += 10) {
			const q = 'q-' + ++round, r = 'p-' + round, long = (filler + round + '\n').repeat(20);
			event('prompt.accepted', 'accepted', { receipt: r });
			event('prompt.submitted', 'submitted', { receipt: r });
			event('session.activity', 'busy', { activity: 'busy', source: 'hook', confidence: 'certain' });
			event('worker.telemetry', filler, { tokens: String(round) });
			event('pending.raised', long, { id: q, prompt: long, kind: 'question', options: '["yes","no"]', instance: 'i' });
			event('session.activity', 'waiting', { activity: 'waiting', source: 'hook', confidence: 'certain' });
			event('pending.answered', 'answered', { id: q });
			event('session.activity', 'busy', { activity: 'busy', source: 'hook', confidence: 'certain' });
			event('prompt.consumed', long, { receipt: r });
			event('session.activity', 'idle', { activity: 'idle', source: 'hook', confidence: 'certain' });
			if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5)); // the page draws
		}
		return id;
	};
})()`

// heap returns the bytes of the JavaScript heap in use after a collection.
func (p *page) heap() int64 {
	p.t.Helper()
	var used int64
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for range 3 {
			if _, err := cdp.Call(ctx, target, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
				return err
			}
		}
		usage, err := cdp.Call(ctx, target, runtime.GetHeapUsage, cdp.Empty{})
		if err == nil {
			used = int64(usage.UsedSize)
		}
		return err
	}))
	return used
}

// The page keeps a bounded part of the events: after many of them its heap is as large as after few.
func TestHeapIsSteady(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	city.AwaitRunning("writer", gcruntime.ActivityIdle)
	p := openTab(t, city, desk)
	p.expect("/api/v1/receipts/") // the prompts of the replay do not exist
	p.expect("/terminal")
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: feed})
		return err
	}))
	p.visit(link(t, city))
	events := int(replay.Seconds()) * 10
	for _, hash := range []string{"#/needs", "#/agent/writer/timeline"} {
		p.open(hash)
		const warm = 600 // more than the page keeps
		get[int](p, fmt.Sprintf(`window.feed(%d)`, warm))
		p.until("the events are on the page", `!document.querySelector('[data-question]')`)
		before := p.heap()
		for done := 0; done < events; done += 600 {
			get[int](p, fmt.Sprintf(`window.feed(%d)`, min(600, events-done)))
		}
		after := p.heap()
		t.Logf("%s: %d KB after %d events, %d KB after %d more", hash, before>>10, warm, after>>10, events)
		if grown := after - before; grown > 512<<10 {
			t.Errorf("%s: %d events make the heap grow by %d KB", hash, events, grown>>10)
		}
	}
}
