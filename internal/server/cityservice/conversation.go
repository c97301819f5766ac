package cityservice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/agentcli/transcript"
	"gascity/internal/domain/session"
	"gascity/internal/fsutil"
	"gascity/internal/retry"
	"gascity/internal/service/engine"
)

const (
	defaultEntries = 100
	// searchEvery is how often a follower searches for a transcript that does not exist yet.
	searchEvery = time.Second
	// settle is the pause between a change and its reading, so that many changes cause one reading.
	settle = 100 * time.Millisecond
)

// Conversation returns the entries of an agent's conversation that the query selects. They come from the transcript of its agent
// CLI. If gc knows no transcript, they are the prompts that gc sent and the tool calls that hooks reported. It implements
// controlapi.Conversations.
func (f Service) Conversation(ctx context.Context, target string, q client.ConversationQuery) (client.Conversation, error) {
	v, err := f.Snapshot(target)
	if err != nil {
		return client.Conversation{}, err
	}
	c, _, err := f.conversation(ctx, &v, &reports{})
	if err != nil {
		return client.Conversation{}, err
	}
	selectEntries(&c, q)
	return c, nil
}

// conversation returns all entries that are kept of a session's conversation, and the path of its transcript; empty if
// there is none. Without a transcript it adds new reports of hooks to r, and returns them all.
func (f Service) conversation(ctx context.Context, v *session.Snapshot, r *reports) (c client.Conversation, path string, err error) {
	receipts, err := f.Queue(ctx, v.Session, client.WithEnded)
	if err != nil {
		return c, "", err
	}
	c = client.Conversation{Agent: v.Agent, Session: v.Session, ID: v.Conversation.ID, Entries: []client.ConversationEntry{}}
	place := f.findTranscript(v)
	if place.path != "" {
		c.Source = place.source
		err := f.opts.Transcripts.read(ctx, v.Session, place, &c)
		switch {
		case err == nil:
			attribute(c.Entries, receipts)
			if c.Source == client.FromRecord {
				withoutTerminal(c.Entries)
			}
			return c, place.path, nil
		case !errors.Is(err, transcript.ErrNoFile):
			return c, "", fmt.Errorf("%w: the conversation of %s: %w", client.ErrUnavailable, v.Agent, err)
		}
	}
	c.Source, c.Note = client.FromReceipts, cmp.Or(place.missing, "the transcript of this conversation is not there yet")
	if err := f.readReports(ctx, v.Session, r); err != nil {
		return c, "", err
	}
	fromReceipts(&c, receipts, r.entries, place.since)
	return c, "", nil
}

// findTranscript returns the place of a session's transcript.
func (f Service) findTranscript(v *session.Snapshot) transcriptPlace {
	return f.opts.Transcripts.find(v, f.opts.Engines.Desired(v.Agent))
}

// selectEntries reduces a conversation to the entries that a query selects.
func selectEntries(c *client.Conversation, q client.ConversationQuery) {
	turn := c.Turns + 1 - q.Turn // q.Turn counts from the end: 1 is the last turn
	all := c.Entries
	c.Entries = make([]client.ConversationEntry, 0, min(len(all), defaultEntries))
	for _, e := range all {
		switch {
		case q.Turn > 0 && e.Turn != turn,
			q.Before > 0 && e.ID >= q.Before,
			!q.Since.IsZero() && e.Time.Before(q.Since),
			!q.Until.IsZero() && e.Time.After(q.Until):
		default:
			c.Entries = append(c.Entries, e)
		}
	}
	limit := min(cmp.Or(q.Limit, defaultEntries), client.MaxConversationLimit)
	if first := len(c.Entries) - limit; first > 0 {
		c.Entries, c.More = c.Entries[first:], true
	}
}

// FollowConversation calls send with the newest entries of a conversation and then with every new or changed one, until ctx ends
// or send fails. It implements controlapi.Conversations.
func (f Service) FollowConversation(ctx context.Context, target string, q client.ConversationQuery, send func(client.Conversation) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v, err := f.Snapshot(target)
	if err != nil {
		return err
	}
	last, err := f.Since(ctx, time.Now().Add(time.Hour))
	if err != nil {
		return err
	}
	_, _, events, err := f.Events(ctx, last)
	if err != nil {
		return err
	}
	w := &conversationFollower{city: f, target: target, query: q, send: send, events: forSession(ctx, events, v.Session), stop: func() {}}
	w.appeared = func() bool {
		v, err := f.Snapshot(target)
		if err != nil {
			return true // update reports the error
		}
		place := f.findTranscript(&v)
		return place.path != "" || place.missing != w.sent.Note
	}
	return w.run(ctx)
}

// forSession returns a channel that receives a value after each event about the session; several events may cause one value. It
// is closed when events is closed.
func forSession(ctx context.Context, events <-chan client.Event, name string) <-chan struct{} {
	out := engine.NewSignal()
	go func() { // ends with events, which end with ctx
		defer close(out)
		for e := range events {
			if e.Session == name && ctx.Err() == nil {
				out.Wake()
			}
		}
	}()
	return out
}

// conversationFollower sends what changes in a conversation to one reader.
type conversationFollower struct {
	city   Service
	target string
	query  client.ConversationQuery
	send   func(client.Conversation) error
	events <-chan struct{}
	// appeared reports whether there is a transcript now, or another reason why there is none. It reads directories only.
	appeared func() bool

	reported reports         // of hooks, while there is no transcript
	path     string          // of the watched transcript
	changes  <-chan struct{} // of the transcript
	stop     context.CancelFunc
	sent     client.Conversation // what the reader has, with the entries that can still change
}

// keptSent is how many of the newest entries are compared for changes.
const keptSent = 300

// run sends the conversation and then its changes until ctx ends or sending fails.
func (w *conversationFollower) run(ctx context.Context) error {
	defer func() { w.stop() }()
	for first := true; ; first = false {
		if err := w.update(ctx, first); err != nil {
			return err
		}
		if err := w.wait(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		retry.Sleep(ctx, settle)
	}
}

// wait returns when the conversation may have changed: after an event of the session, after a change of its transcript, and when a
// transcript has appeared. A transcript that cannot be watched is read again after [searchEvery]. It returns nil when ctx ends.
func (w *conversationFollower) wait(ctx context.Context) error {
	var search <-chan time.Time
	if w.changes == nil {
		ticker := time.NewTicker(searchEvery)
		defer ticker.Stop()
		search = ticker.C
	}
	for {
		open := true
		select {
		case <-ctx.Done():
			return nil
		case _, open = <-w.events:
		case _, open = <-w.changes:
		case <-search:
			if w.path == "" && !w.appeared() {
				continue
			}
		}
		if !open && ctx.Err() == nil {
			return fmt.Errorf("%w: the events of the city ended", client.ErrUnavailable)
		}
		return nil
	}
}

// update reads the conversation and sends what is new or changed.
func (w *conversationFollower) update(ctx context.Context, first bool) error {
	v, err := w.city.Snapshot(w.target)
	if err != nil {
		return err
	}
	c, path, err := w.city.conversation(ctx, &v, &w.reported)
	if err != nil {
		return err
	}
	w.watch(ctx, path)
	all := c.Entries
	if first || c.ID != w.sent.ID || c.Source != w.sent.Source {
		first, w.sent.Entries = true, nil
		selectEntries(&c, client.ConversationQuery{Limit: w.query.Limit, Since: w.query.Since})
	} else {
		c.Entries = w.changed(all)
	}
	same := c.Note == w.sent.Note && c.Skipped == w.sent.Skipped
	w.sent = c
	w.sent.Entries = slices.Clone(all[max(0, len(all)-keptSent):])
	if !first && len(c.Entries) == 0 && same {
		return nil
	}
	return w.send(c)
}

// changed returns the entries that the reader does not have in this form.
func (w *conversationFollower) changed(all []client.ConversationEntry) []client.ConversationEntry {
	out := []client.ConversationEntry{}
	before := w.sent.Entries
	for _, e := range all[max(0, len(all)-keptSent):] {
		for len(before) > 0 && before[0].ID < e.ID {
			before = before[1:]
		}
		if len(before) > 0 && before[0].ID == e.ID && reflect.DeepEqual(before[0], e) {
			continue
		}
		if n := len(w.sent.Entries); n > 0 && e.ID < w.sent.Entries[0].ID {
			continue // older than what is compared
		}
		out = append(out, e)
	}
	return out
}

// watch watches the transcript at path, if that is another one than before.
func (w *conversationFollower) watch(ctx context.Context, path string) {
	if path == w.path {
		return
	}
	w.stop()
	w.path, w.changes, w.stop = path, nil, func() {}
	if path == "" {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	changes, err := fsutil.WatchFile(ctx, path)
	if err != nil {
		cancel()
		return
	}
	w.changes, w.stop = changes, cancel
}
