package workers

import (
	"cmp"
	"time"

	"gascity/worker"
)

// Began returns the record after a hook reported, by a new claim, that a conversation starts or
// continues. c.Source decides whether a new epoch starts and in which mode sections are pending. A
// new conversation, a compaction, and another conversation that is resumed in the same process each
// start an epoch. A start belongs to the epoch of the instance, unless the instance has had another
// conversation. dropped are the IDs of the messages of a previous epoch.
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

// Fetch records the sections that a claim receives and returns them: those that fit into c.Limit
// bytes, with two bytes between sections, and that the epoch has not had. all is false if some
// sections did not fit and are still pending. A repeated claim gets the same sections again.
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
