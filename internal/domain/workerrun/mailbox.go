package workerrun

import (
	"errors"
	"slices"

	"gascity/worker"
)

// Mailbox is what a run is sent and how far it has come with that. Messages stay
// until they are acknowledged; one that is not is sent again to each new reader. The
// zero value is empty.
type Mailbox struct {
	seq      uint64
	messages []*PendingMessage
}

// PendingMessage is a message on its way.
type PendingMessage struct {
	worker.Message
	State  worker.Progress // empty: nothing was said of it
	Detail string
	Sent   bool // a reader has had it, or may have
	Nonces []string
}

// IsDone reports whether a letter gets no further report; false for nil.
func (l *PendingMessage) IsDone() bool {
	return l != nil && (l.State == worker.Consumed || l.State == worker.Refused || l.State == worker.Failed)
}

// The bounds of a mailbox. What was acknowledged goes first, and what was not stays.
const (
	maxMessages = 256
	maxEnded    = 64       // of them, remembered so that a repetition is known as one
	maxBytes    = 32 << 20 // of what was not acknowledged
)

// ErrFull reports a mailbox whose worker fetches nothing.
var ErrFull = errors.New("too much waits for the worker already")

// Put adds a message, or finds the one that is there with its ID.
func (b *Mailbox) Put(m worker.Message) (*PendingMessage, error) {
	if l := b.Find(m.ID); l != nil {
		return l, nil
	}
	if !b.makeRoom(len(m.Data)) {
		return nil, ErrFull
	}
	b.seq++
	m.Seq = b.seq
	l := &PendingMessage{Message: m}
	b.messages = append(b.messages, l)
	return l, nil
}

// makeRoom makes space for one letter more: the oldest that ended goes, else the oldest
// with a report.
func (b *Mailbox) makeRoom(size int) bool {
	for _, l := range b.messages {
		if l.State == "" {
			size += len(l.Data)
		}
	}
	if size > maxBytes {
		return false
	}
	ended := 0
	for _, l := range b.messages {
		if l.IsDone() {
			ended++
		}
	}
	if ended >= maxEnded {
		at := slices.IndexFunc(b.messages, (*PendingMessage).IsDone)
		b.messages = slices.Delete(b.messages, at, at+1)
	}
	for _, may := range []func(*PendingMessage) bool{(*PendingMessage).IsDone, func(l *PendingMessage) bool { return l.State != "" }} {
		for len(b.messages) >= maxMessages {
			at := slices.IndexFunc(b.messages, may)
			if at < 0 {
				break
			}
			b.messages = slices.Delete(b.messages, at, at+1)
		}
	}
	return len(b.messages) < maxMessages
}

// Find returns the letter with an ID, nil if there is none.
func (b *Mailbox) Find(id string) *PendingMessage {
	for _, l := range slices.Backward(b.messages) {
		if l.ID == id {
			return l
		}
	}
	return nil
}

// HasOpen reports whether a message of a kind has not ended.
func (b *Mailbox) HasOpen(kind worker.MessageKind) bool {
	return slices.ContainsFunc(b.messages, func(l *PendingMessage) bool { return l.Kind == kind && !l.IsDone() })
}

// Withdraw takes a message back that no reader has had. It reports whether it could.
func (b *Mailbox) Withdraw(id string) bool {
	if l := b.Find(id); l == nil || l.Sent || l.State != "" {
		return false
	}
	b.Remove(id)
	return true
}

// Remove forgets a message: it is not sent again.
func (b *Mailbox) Remove(id string) {
	b.messages = slices.DeleteFunc(b.messages, func(l *PendingMessage) bool { return l.ID == id })
}

// Open returns what a new reader is to get, which has read up to the given number:
// everything without a report, in the order in which it was put. If one of them has a
// number that the reader knows, they all get new ones. A gap says that the reader
// knows numbers that this mailbox never gave.
func (b *Mailbox) Open(after uint64) (open []worker.Message, gap *worker.Gap) {
	if after > b.seq {
		gap = &worker.Gap{From: after, Next: after + 1}
		b.seq = after
	}
	waiting := slices.DeleteFunc(slices.Clone(b.messages), func(l *PendingMessage) bool { return l.State != "" })
	renumber := slices.ContainsFunc(waiting, func(l *PendingMessage) bool { return l.Seq <= after })
	for _, l := range waiting {
		if renumber {
			b.seq++
			l.Seq = b.seq
		}
		open = append(open, l.Message)
	}
	return open, gap
}

// Ack records how far a message has come. It reports whether that is news; a message
// never goes back: one that the agent has taken cannot be refused any more. An
// unknown one is not noted. The content of a message is dropped then, except
// context, whose arrival is verified.
func (b *Mailbox) Ack(a worker.Ack) (l *PendingMessage, news bool) {
	l = b.Find(a.ID)
	if l == nil || l.IsDone() || rank(a.State) <= rank(l.State) || a.State == worker.Refused && l.State == worker.Submitted {
		return l, false
	}
	l.State, l.Detail, l.Sent = a.State, clip(a.Detail), true
	l.Nonces = append(l.Nonces, a.Nonces[:min(len(a.Nonces), maxNonces)]...)
	if l.Kind != worker.ContextMessage {
		l.Data = nil
	}
	return l, true
}

// AckUnknown records an acknowledgement of a message that was sent before this mailbox was.
func (b *Mailbox) AckUnknown(a worker.Ack) *PendingMessage {
	l, err := b.Put(worker.Message{ID: a.ID, At: a.At})
	if err != nil { // full of what the worker has not fetched: it can repeat itself
		return nil
	}
	b.Ack(a)
	return l
}

const maxNonces = 256

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
