package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/cli/render"
	"gascity/internal/retry"
)

// errNoConversation reports that gc does not know the conversation of an agent.
var errNoConversation = errors.New("no conversation is known")

// conversation prints the conversation of an agent as far as the flags select it. If gc does not know it, the error is
// errNoConversation, and nothing was printed but a message.
func (a *app) conversation(ctx context.Context, c *client.Client, name string, q client.ConversationQuery, follow bool) error {
	all, err := wholeConversation(ctx, c, name, q)
	switch {
	case errors.Is(err, client.ErrUnsupported):
		return errNoConversation // an older controller
	case err != nil:
		return err
	case all.Source == client.FromReceipts:
		a.Messagef("no conversation of %s: %s; this is its recorded output", name, all.Note)
		return errNoConversation
	case q.Turn > all.Turns:
		return fmt.Errorf("%w: the conversation of %s has %d turns", client.ErrNotFound, name, all.Turns)
	}
	p := &conversationPrinter{app: a, name: name, format: render.Conversation{Formatter: a.Formatter()}}
	if !follow {
		if a.JSON {
			return a.PrintJSON(all)
		}
		return p.print(all)
	}
	q.Limit = client.MaxConversationLimit
	if q.Turn > 0 { // the last turn: its first entry is the first one
		q.Turn = 0
		if len(all.Entries) > 0 {
			q.Since = all.Entries[0].Time
		}
	}
	return p.follow(ctx, c, q)
}

// wholeConversation returns all entries of a conversation that the query selects. It requests them page by page.
func wholeConversation(ctx context.Context, c *client.Client, name string, q client.ConversationQuery) (client.Conversation, error) {
	q.Limit = client.MaxConversationLimit
	all, err := c.Conversation(ctx, name, q)
	for more := all.More; err == nil && more && len(all.Entries) > 0; {
		q.Before = all.Entries[0].ID
		var page client.Conversation
		if page, err = c.Conversation(ctx, name, q); page.ID != all.ID {
			break // another conversation has begun
		}
		all.Entries, more = slices.Concat(page.Entries, all.Entries), page.More
	}
	all.More = false
	return all, err
}

// conversationPrinter prints the parts of a conversation.
type conversationPrinter struct {
	*app

	name   string
	format render.Conversation
	id     string
	begun  bool                     // a part was printed
	last   client.ConversationEntry // the newest entry that was printed
}

// print prints a part of a conversation: with --json as one line, otherwise as text. It reports on standard error if
// the part is incomplete or empty.
func (p *conversationPrinter) print(part client.Conversation) error {
	if p.JSON {
		return p.PrintJSONLine(part)
	}
	if part.Note != "" {
		p.Messagef("%s: %s", p.name, part.Note)
	}
	if len(part.Entries) == 0 {
		p.Messagef("the conversation of %s has no entries in this selection", p.name)
	}
	_, err := fmt.Fprint(p.Stdout, p.format.Entries(part.Entries))
	return err
}

// The first and the longest pause between two attempts to connect again.
const firstReconnect, longestReconnect = 50 * time.Millisecond, 2 * time.Second

// follow prints the conversation and what is added to it, until ctx ends.
func (p *conversationPrinter) follow(ctx context.Context, c *client.Client, q client.ConversationQuery) error {
	delay, lost := retry.New(firstReconnect, longestReconnect), time.Time{}
	for {
		var failed error
		for part, err := range c.FollowConversation(ctx, p.name, q) {
			if failed = err; err != nil {
				break
			}
			delay.Reset()
			lost = time.Time{}
			if err := p.part(part); err != nil {
				return err
			}
			if n := len(part.Entries); n > 0 && !part.Entries[n-1].Time.IsZero() {
				q.Since = part.Entries[n-1].Time // after a lost connection
			}
		}
		if ctx.Err() != nil {
			return nil // Ctrl-C is the normal end of --follow
		}
		if lost.IsZero() {
			lost = time.Now()
		}
		if _, answered := errors.AsType[*client.Problem](failed); answered || time.Since(lost) > client.ResumeFor {
			return failed
		}
		if !delay.Wait(ctx) {
			return nil
		}
	}
}

// part prints what is new in a part: entries after the last one, and results of tool calls that were running.
func (p *conversationPrinter) part(part client.Conversation) error {
	if part.Source == client.FromReceipts && !p.JSON {
		return nil // the transcript of a new conversation is not there yet
	}
	if p.begun && part.ID != p.id {
		p.last = client.ConversationEntry{}
		p.Messagef("%s has begun a new conversation", p.name)
	}
	part.Entries = slices.DeleteFunc(part.Entries, func(e client.ConversationEntry) bool {
		return e.ID <= p.last.ID && e.Kind != client.EntryTool && !p.JSON
	})
	if n := len(part.Entries); n > 0 && part.Entries[n-1].ID > p.last.ID {
		p.last = part.Entries[n-1]
	}
	first := !p.begun
	p.id, p.begun = part.ID, true
	if len(part.Entries) == 0 && !first {
		return nil
	}
	return p.print(part)
}
