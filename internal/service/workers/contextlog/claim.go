package contextlog

import (
	"cmp"
	"time"

	"gascity/worker"
)

// Began returns the record after a hook reported that a conversation begins or goes on, by
// a claim that this record does not know. How it did decides whether an epoch begins, and
// in which mode sections are owed: a new conversation, a compaction and another
// conversation taken up again in the same process are epochs of their own; a start is one
// with the instance, unless another conversation has had it. Messages of a previous epoch
// are dropped.
func (r Record) Began(c worker.ContextClaim, at time.Time) (next Record, dropped []string) {
	next = r.With(Record{})
	another := r.Claim != "" && r.Conversation != c.ConversationID
	switch c.Source {
	case worker.BeganFresh, worker.BeganCleared:
		if another || c.Source == worker.BeganCleared {
			next, dropped = r.renewed(at, worker.FullContext)
			next.Pending = true
		}
	case worker.BeganCompacted:
		var ok bool
		if next, dropped, ok = next.Compact(Compaction{c.ID, at}, at); ok {
			next.Pending = true
		}
	case worker.BeganResumed:
		switch {
		case another:
			next, dropped = r.renewed(at, worker.ResumeContext)
			next.Pending = true
		case r.Claim == "" && r.Epoch == 0:
			next.Mode = worker.ResumeContext
		}
	}
	next.Claim, next.Conversation = c.ID, c.ConversationID
	return next, dropped
}

// Fetch records as given by a claim what of the sections fits into limit bytes, with a blank
// line between two of them, and leaves out what the epoch has had. all says that nothing
// is owed any more. The claim that was the last one gets the same again.
func (r Record) Fetch(instance string, c worker.ContextClaim, sections []worker.Section) (next Record, given []worker.Section, all bool) {
	next, all = r.With(Record{}), true
	had := map[string]bool{}
	for _, key := range next.Types {
		had[typeOf(key)] = true
	}
	keys := map[string]string{} // of the sections that this claim has had before
	for _, key := range next.Open[c.ID] {
		had[typeOf(key)] = false
		keys[typeOf(key)] = key
	}
	again, size := len(next.Open[c.ID]) > 0, 0
	for _, s := range sections {
		elsewhere, seen := had[s.Type]
		if elsewhere {
			continue
		}
		if again && !seen {
			all = false
			continue
		}
		key, content := cmp.Or(keys[s.Type], next.key(s.Type)), s.Content
		s = next.signed(instance, key, s)
		if size += len(s.Content) + len("\n\n"); c.Limit > 0 && size > c.Limit {
			size -= len(s.Content) + len("\n\n")
			all = false
			continue
		}
		given = append(given, s)
		if !again {
			next.Versions[s.Type] = Version{Hash: hash(content), Number: next.Versions[s.Type].Number}
			next = next.opened(c.ID, key)
		}
	}
	return next, given, all
}
