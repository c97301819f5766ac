package run

import (
	"slices"
	"time"

	"gascity/worker"
)

// Mailbox is what a run is sent and how far it has come with that. Messages stay
// until they are acknowledged; one that is not is sent again to each new reader.
type Mailbox struct {
	seq      uint64
	messages []*Letter
}

// Letter is a message on its way.
type Letter struct {
	worker.Message
	State  worker.Progress // empty: nothing was said of it
	Detail string
	Sent   bool // it has been handed to a reader
	Nonces []string
}

// Ended reports whether nothing more is to be heard of a letter.
func (l *Letter) Ended() bool {
	return l.State == worker.Consumed || l.State == worker.Refused || l.State == worker.Failed
}

// maxLetters is how many messages are remembered; the oldest that have ended go
// first.
const maxLetters = 256

// Put adds a message, or finds the one that is there with its ID.
func (b *Mailbox) Put(m worker.Message) *Letter {
	if l := b.Find(m.ID); l != nil {
		return l
	}
	b.seq++
	m.Seq = b.seq
	l := &Letter{Message: m}
	b.messages = append(b.messages, l)
	if len(b.messages) > maxLetters {
		if at := slices.IndexFunc(b.messages, (*Letter).Ended); at >= 0 {
			b.messages = slices.Delete(b.messages, at, at+1)
		}
	}
	return l
}

// Find returns the letter with an ID, nil if there is none.
func (b *Mailbox) Find(id string) *Letter {
	for _, l := range slices.Backward(b.messages) {
		if l.ID == id {
			return l
		}
	}
	return nil
}

// Take takes a message back that no reader has had. It reports whether it could.
func (b *Mailbox) Take(id string) bool {
	at := slices.IndexFunc(b.messages, func(l *Letter) bool { return l.ID == id })
	if at < 0 || b.messages[at].Sent || b.messages[at].State != "" {
		return false
	}
	b.messages = slices.Delete(b.messages, at, at+1)
	return true
}

// Open returns what a new reader is to get, which has read up to the given number:
// everything of which nothing was heard. What it has read already gets a new number.
// A gap says that the reader knows numbers that this mailbox never gave.
func (b *Mailbox) Open(after uint64) (open []worker.Message, gap *worker.Gap) {
	if after > b.seq {
		gap = &worker.Gap{From: after, Next: after + 1}
		b.seq = after
	}
	for _, l := range b.messages {
		if l.State != "" {
			continue
		}
		if l.Seq <= after {
			b.seq++
			l.Seq = b.seq
		}
		open = append(open, l.Message)
	}
	slices.SortFunc(open, func(x, y worker.Message) int { return int(x.Seq) - int(y.Seq) }) //nolint:gosec // small
	return open, gap
}

// Ack notes how far a message has come. It reports whether that is news; a message
// never goes back, and one that nobody knows is not noted.
func (b *Mailbox) Ack(a worker.Ack) (l *Letter, news bool) {
	l = b.Find(a.ID)
	if l == nil || l.Ended() || rank(a.State) <= rank(l.State) {
		return l, false
	}
	l.State, l.Detail, l.Sent = a.State, a.Detail, true
	l.Nonces = append(l.Nonces, a.Nonces...)
	return l, true
}

// rank orders progress.
func rank(p worker.Progress) int {
	switch p {
	case worker.Received:
		return 1
	case worker.Submitted:
		return 2
	case worker.Consumed, worker.Refused, worker.Failed:
		return 3
	}
	return 0
}

// Last returns when the newest message was sent; zero if there is none.
func (b *Mailbox) Last() time.Time {
	if len(b.messages) == 0 {
		return time.Time{}
	}
	return b.messages[len(b.messages)-1].At
}
