package session

import (
	"errors"
	"slices"

	"gascity/worker"
)

// Mailbox contains the messages for the worker of a run and their progress. A message stays until
// the worker acknowledges it, and is sent again to each new reader until then. The zero value is
// an empty mailbox.
type Mailbox struct {
	seq      uint64
	messages []*MailboxMessage
}

// MailboxMessage is a message in a [Mailbox] with its progress.
type MailboxMessage struct {
	worker.Message
	State  worker.Progress // empty: not acknowledged yet
	Detail string
	Sent   bool // a reader has received it, or may have
	Nonces []string
}

// IsDone reports whether the message is consumed, refused or failed, so that no further
// acknowledgement is expected; false for nil.
func (l *MailboxMessage) IsDone() bool {
	return l != nil && (l.State == worker.Consumed || l.State == worker.Refused || l.State == worker.Failed)
}

// The limits of a mailbox. Acknowledged messages are removed first; the others are never removed.
const (
	maxMessages = 256
	maxEnded    = 64       // of these, done messages; they are kept to recognize repeated ones
	maxBytes    = 32 << 20 // data of messages that are not acknowledged
)

// ErrMailboxFull reports that a mailbox is full, because its worker does not fetch its messages.
var ErrMailboxFull = errors.New("the worker has too many unfetched messages")

// Put adds a message. If the mailbox already has a message with this ID, Put returns that one
// instead.
func (b *Mailbox) Put(m worker.Message) (*MailboxMessage, error) {
	if l := b.Find(m.ID); l != nil {
		return l, nil
	}
	if !b.makeRoom(len(m.Data)) {
		return nil, ErrMailboxFull
	}
	b.seq++
	m.Seq = b.seq
	l := &MailboxMessage{Message: m}
	b.messages = append(b.messages, l)
	return l, nil
}

// makeRoom removes old messages until one more with size bytes of data fits, and reports whether
// it fits. It removes the oldest done messages first, then the oldest acknowledged ones.
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
		at := slices.IndexFunc(b.messages, (*MailboxMessage).IsDone)
		b.messages = slices.Delete(b.messages, at, at+1)
	}
	for _, may := range []func(*MailboxMessage) bool{(*MailboxMessage).IsDone, func(l *MailboxMessage) bool { return l.State != "" }} {
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

// Find returns the message with the ID, nil if there is none.
func (b *Mailbox) Find(id string) *MailboxMessage {
	for _, l := range slices.Backward(b.messages) {
		if l.ID == id {
			return l
		}
	}
	return nil
}

// HasOpenPrompt reports whether the mailbox has a prompt that is not done.
func (b *Mailbox) HasOpenPrompt() bool {
	return slices.ContainsFunc(b.messages, func(l *MailboxMessage) bool { return l.Kind == worker.PromptMessage && !l.IsDone() })
}

// Withdraw removes a message that no reader has received, and reports whether it was removed.
func (b *Mailbox) Withdraw(id string) bool {
	if l := b.Find(id); l == nil || l.Sent || l.State != "" {
		return false
	}
	b.Remove(id)
	return true
}

// Remove deletes a message: it is not sent again.
func (b *Mailbox) Remove(id string) {
	b.messages = slices.DeleteFunc(b.messages, func(l *MailboxMessage) bool { return l.ID == id })
}

// Open returns the messages that a new reader must get, in the order in which they were added: all
// that are not acknowledged. after is the last number that the reader has read; 0 for none. If one
// of the messages has a number up to after, all of them get new numbers. gap is not nil if after is
// greater than any number of this mailbox: the reader has read from an earlier mailbox.
func (b *Mailbox) Open(after uint64) (open []worker.Message, gap *worker.Gap) {
	if after > b.seq {
		gap = &worker.Gap{From: after, Next: after + 1}
		b.seq = after
	}
	waiting := slices.DeleteFunc(slices.Clone(b.messages), func(l *MailboxMessage) bool { return l.State != "" })
	renumber := slices.ContainsFunc(waiting, func(l *MailboxMessage) bool { return l.Seq <= after })
	for _, l := range waiting {
		if renumber {
			b.seq++
			l.Seq = b.seq
		}
		open = append(open, l.Message)
	}
	return open, gap
}

// Ack records the progress of a message. news is true if the acknowledgement changed the message.
// Progress never decreases: a message that the agent has accepted cannot be refused later. Ack
// ignores an unknown ID. It drops the data of the message, except that of a context message, whose
// arrival is verified.
func (b *Mailbox) Ack(a worker.Ack) (l *MailboxMessage, news bool) {
	l = b.Find(a.ID)
	if l == nil || l.IsDone() || rank(a.State) <= rank(l.State) || a.State == worker.Refused && l.State == worker.Submitted {
		return l, false
	}
	l.State, l.Detail, l.Sent = a.State, clipText(a.Detail), true
	l.Nonces = append(l.Nonces, a.Nonces[:min(len(a.Nonces), maxNonces)]...)
	if l.Kind != worker.ContextMessage {
		l.Data = nil
	}
	return l, true
}

// AckUnknown records an acknowledgement of a message that this mailbox does not contain, because a
// previous controller sent it. It returns nil if the mailbox is full; the worker can send the
// acknowledgement again.
func (b *Mailbox) AckUnknown(a worker.Ack) *MailboxMessage {
	l, err := b.Put(worker.Message{ID: a.ID, At: a.At})
	if err != nil { // full of messages that the worker has not fetched; it can send the acknowledgement again
		return nil
	}
	b.Ack(a)
	return l
}

// maxNonces is the maximum number of nonces stored from one acknowledgement.
const maxNonces = 256

// rank returns the order of progress: a greater number is later, 0 is not acknowledged.
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
