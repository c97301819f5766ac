package browser

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	gcruntime "gascity/runtime"
	"gascity/test/citytest"
)

// replay is how much time of a busy city TestHeapIsSteady replays, at 10 events a second. By hand:
// go test ./test/browser -run HeapIsSteady -replay 30m
var replay = flag.Duration("replay", 3*time.Minute, "the time of a busy city that TestHeapIsSteady replays")

// maxGrowth is how much the heap may grow in TestHeapIsSteady, in bytes. A page that keeps 110 bytes of each event grows by more.
const maxGrowth = 192 << 10

// feed is a script that replaces the event stream of the page by one that window.feed writes, and the list of questions by those that
// were raised there. window.feed(n) ends with a question, which window.answer answers.
const feed = `(() => {
	const real = window.fetch, encoder = new TextEncoder();
	let id = 1e6, round = 0, asked = [];
	window.fetch = (path, options) => {
		if (String(path).endsWith('/api/v1/pending')) return Promise.resolve(Response.json(asked));
		if (!String(path).includes('/events/stream')) return real(path, options);
		return Promise.resolve(new Response(new ReadableStream({ start(to) { window.feedTo = to; } }), { status: 200 }));
	};
	const event = (kind, text, data) => {
		const value = { id: ++id, kind, time: new Date().toISOString(), agent: 'writer', session: 'writer', text: text + ' ' + id, data };
		window.feedTo.enqueue(encoder.encode('event: event\nid: ' + id + '\ndata: ' + JSON.stringify(value) + '\n\n'));
	};
	const raise = (prompt) => {
		const q = 'q-' + ++round, options = ['yes', 'no'];
		asked = [{ id: q, agent: 'writer', session: 'writer', instance: 'i', kind: 'question', prompt, options, since: new Date().toISOString(), state: 'open', source: 'hook', policy: '' }];
		event('pending.raised', prompt, { id: q, prompt, kind: 'question', options: JSON.stringify(options), instance: 'i' });
	};
	window.answer = () => {
		const [q] = asked;
		asked = [];
		event('pending.answered', 'answered', { id: q.id });
		return true;
	};
	const filler = 'a line of a text that an agent wrote, number ';
	window.feed = async (n) => {
		for (let i = 0; i < n; i += 10) {
			const r = 'p-' + round, long = (filler + round + '\n').repeat(20);
			event('prompt.accepted', 'accepted', { receipt: r });
			event('prompt.submitted', 'submitted', { receipt: r });
			event('session.activity', 'busy', { activity: 'busy', source: 'hook', confidence: 'certain' });
			event('worker.telemetry', filler, { tokens: String(round) });
			raise(long);
			event('session.activity', 'waiting', { activity: 'waiting', source: 'hook', confidence: 'certain' });
			window.answer();
			event('session.activity', 'busy', { activity: 'busy', source: 'hook', confidence: 'certain' });
			event('prompt.consumed', long, { receipt: r });
			event('session.activity', 'idle', { activity: 'idle', source: 'hook', confidence: 'certain' });
			if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5)); // the page draws
		}
		raise('the last question ' + round);
		return 'the last question ' + (round - 1);
	};
})()`

// sizes are what a page holds after a collection: bytes of the JavaScript heap, nodes of documents, and listeners.
type sizes struct{ heap, nodes, listeners int64 }

// measure returns the sizes of the page.
func (p *page) measure() sizes {
	p.t.Helper()
	var s sizes
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for range 3 {
			if _, err := cdp.Call(ctx, target, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
				return err
			}
		}
		usage, err := cdp.Call(ctx, target, runtime.GetHeapUsage, cdp.Empty{})
		if err != nil {
			return err
		}
		counts, err := cdp.Call(ctx, target, memory.GetDOMCounters, cdp.Empty{})
		if err == nil {
			s = sizes{int64(usage.UsedSize), counts.Nodes, counts.JsEventListeners}
		}
		return err
	}))
	return s
}

// The page keeps a bounded part of the events, and of what it makes for them: after many of them it is as large as after few. Each event
// reaches the page.
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
		play := func(n int) {
			t.Helper()
			last := get[string](p, fmt.Sprintf(`window.feed(%d)`, n))
			p.until("the last event is on the page", fmt.Sprintf(`document.querySelector('[data-question], .banner')?.innerText.includes(%q)`, last))
			get[bool](p, `window.answer()`)
			p.until("the answer is on the page", `!document.querySelector('[data-question], .banner')`)
		}
		const piece = 600 // more than the page keeps
		play(piece)
		play(piece)
		before := p.measure()
		for done := 0; done < events; done += piece {
			play(min(piece, events-done))
		}
		after := p.measure()
		t.Logf("%s: %d events make the page grow from %+v to %+v", hash, events, before, after)
		if grown := after.heap - before.heap; grown > maxGrowth {
			t.Errorf("%s: %d events make the heap grow by %d KB", hash, events, grown>>10)
		}
		if after.nodes > before.nodes+200 || after.listeners > before.listeners+50 {
			t.Errorf("%s: %d events make the page grow from %+v to %+v", hash, events, before, after)
		}
	}
}
