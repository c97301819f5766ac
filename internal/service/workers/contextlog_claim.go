package workers

import (
	"cmp"
	"time"

	"gascity/worker"
)

// Began returns the log after a hook reported, by the claim c, that a conversation starts or
// continues. c.Source decides whether that starts a new epoch and in which mode sections must be
// sent. A new conversation, a compaction, and the resume of another conversation in the same
// process each start an epoch. The first conversation of an instance belongs to the epoch of its
// start. dropped are the IDs of messages of a previous epoch, which must not be sent any more.
func (r contextLog) Began(c worker.ContextClaim, at time.Time) (next contextLog, dropped []string) {
	next = r.With(contextLog{})
	another := r.Claim != "" && r.Conversation != c.ConversationID
	switch c.Source {
	case worker.BeganFresh, worker.BeganCleared:
		if another || c.Source == worker.BeganCleared {
			next, dropped = r.newEpoch(at, worker.FullContext)
			next.Pending = true
		}
	case worker.BeganCompacted:
		var ok bool
		if next, dropped, ok = next.Compact(compactionReport{c.ID, at}, at); ok {
			next.Pending = true
		}
	case worker.BeganResumed:
		switch {
		case another:
			next, dropped = r.newEpoch(at, worker.ResumeContext)
			next.Pending = true
		case r.Claim == "" && r.Epoch == 0:
			next.Mode = worker.ResumeContext
		}
	}
	next.Claim, next.Conversation = c.ID, c.ConversationID
	return next, dropped
}

// Fetch records and returns (given) the sections that a hook gets by the claim c: those that were
// not sent in this epoch and that fit into c.Limit bytes. all is false if some did not fit; they
// are still to be sent. A repeated claim gets the same sections again.
func (r contextLog) Fetch(instance string, c worker.ContextClaim, sections []worker.Section) (next contextLog, given []worker.Section, all bool) {
	next, all = r.With(contextLog{}), true
	had := map[string]bool{}
	for _, key := range next.Types {
		had[typeOfSection(key)] = true
	}
	keys := map[string]string{} // keys of the sections that this claim has had before, by type
	for _, key := range next.Open[c.ID] {
		had[typeOfSection(key)] = false
		keys[typeOfSection(key)] = key
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
		s = next.withNonce(instance, key, s)
		if size += len(s.Content) + len("\n\n"); c.Limit > 0 && size > c.Limit {
			size -= len(s.Content) + len("\n\n")
			all = false
			continue
		}
		given = append(given, s)
		if !again {
			next.Versions[s.Type] = sectionVersion{Hash: hashSection(content), Number: next.Versions[s.Type].Number}
			next = next.addOpen(c.ID, key)
		}
	}
	return next, given, all
}
