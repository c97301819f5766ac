package workers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/worker"
)

// maxSections is the largest number of sections in one epoch.
const maxSections = 64

// ClaimPrefix is the prefix of the ID of a message that a hook has fetched. Such a message is never
// sent again, because its sections may already be in the conversation.
const ClaimPrefix = "claim-"

// contextLog is what an instance has received. Its methods return a changed copy. In the zero
// value nothing was received and nothing is pending.
type contextLog struct {
	Epoch           int       `json:"epoch"` // number of compactions and new conversations so far
	Compacted       time.Time `json:"compacted,omitzero"`
	SeenCompactions []string  `json:"heard,omitempty"` // names of the last reported compactions
	Types           []string  `json:"types,omitempty"` // keys of sections in this epoch, see key
	// Versions are the contents that were last sent of each type in this epoch. A type that was
	// part of the agent's start, or that an earlier version of gc sent, may have no entry.
	Versions map[string]sectionVersion `json:"versions,omitempty"`
	Again    int                       `json:"again,omitempty"` // number of messages that arrived without their sections
	// Open are the keys of the sections in each message that has no final report yet, by message
	// ID. A message that was sent and lost with its controller is sent again under its ID.
	Open map[string][]string `json:"open,omitempty"`
	// Pending is true if the city's own sections of this epoch are still to be sent, in mode Mode.
	// An empty Mode means the mode of the instance's start.
	Pending bool               `json:"owed,omitempty"`
	Mode    worker.ContextMode `json:"mode,omitempty"`
	// Claim is the ID of the last message that a hook has fetched, and Conversation is the agent
	// CLI's ID of the conversation that the message was for.
	Claim        string `json:"claim,omitempty"`
	Conversation string `json:"talk,omitempty"`
}

// sectionVersion is one content of a section.
type sectionVersion struct {
	Hash   string             `json:"hash"`
	Mode   worker.ContextMode `json:"mode,omitempty"`
	At     time.Time          `json:"at,omitzero"`
	Number int                `json:"number,omitempty"` // number of earlier versions in the epoch
}

// hashSection returns a short hash of a section's content.
func hashSection(content string) string {
	sum := sha256.Sum256([]byte(content))
	return base32.StdEncoding.EncodeToString(sum[:15])
}

// key returns the key of the current version of a section in Types and Open: its type, and from the
// second version on also a newline and the number of the version.
func (r contextLog) key(kind string) string {
	if n := r.Versions[kind].Number; n > 0 {
		return kind + "\n" + strconv.Itoa(n)
	}
	return kind
}

// typeOfSection returns the section type that a key, see [contextLog.key], begins with.
func typeOfSection(key string) string {
	kind, _, _ := strings.Cut(key, "\n")
	return kind
}

// hasType reports whether a section of the given type was sent in this epoch, in any version. An
// epoch is the time since the conversation began or was last compacted.
func (r contextLog) hasType(kind string) bool {
	return slices.ContainsFunc(r.Types, func(key string) bool { return typeOfSection(key) == kind })
}

// contextMessage is one message with sections.
type contextMessage struct {
	ID string
	worker.Context
}

// With returns the log r with the changes of the log later, which was begun after r. If later has
// started an epoch, the result is later with the sum of both epoch numbers.
func (r contextLog) With(later contextLog) contextLog {
	if later.Epoch > 0 {
		later.Epoch += r.Epoch
		later.SeenCompactions = newestSeen(slices.Concat(r.SeenCompactions, later.SeenCompactions))
		return later
	}
	r.Types = slices.Concat(r.Types, later.Types)
	r.Open, r.Versions = merged(r.Open, later.Open), merged(r.Versions, later.Versions)
	return r
}

// merged returns a new map with the entries of both maps; those of later take precedence.
func merged[V any](m, later map[string]V) map[string]V {
	out := make(map[string]V, len(m)+len(later))
	maps.Copy(out, m)
	maps.Copy(out, later)
	return out
}

// Nonce returns a marker that is sent with a section, so that gc can find the section in the
// conversation. It is always the same for the same instance, epoch and section.
func (r contextLog) Nonce(instance, key string) string {
	mac := hmac.New(sha256.New, []byte(instance))
	fmt.Fprintf(mac, "nonce %d %s", r.Epoch, key)
	return "gc-" + strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil))[:10])
}

// The reasons why a section is not sent, shown to the caller.
const (
	skippedSame   = "the agent has this section with the same content in this conversation; it is sent again when its content changes, or after a compaction was reported"
	skippedRepeat = "the same section was sent in this mode less than a minute ago"
)

// repeatedWithin is how long a second request for the same section, in mode compact or resume,
// counts as a repetition of the first.
const repeatedWithin = time.Minute

// AddCitySections records the city's own sections as sent to the instance, and returns the messages
// (orders) that contain them, each section with a nonce. It leaves out types that were sent in this
// epoch, in any version. The function alive reports whether a message is still in the mailbox. If a
// message of an earlier controller is not in the mailbox, its sections are sent again under the ID
// of that message. The map skipped has the reason for each section type that is not sent.
func (r contextLog) AddCitySections(instance string, c worker.Context, at time.Time, alive func(id string) bool) (next contextLog, orders []contextMessage, skipped map[string]string, err error) { //nolint:revive // the callers need all four results
	return r.addSections(instance, c, at, alive, func(s worker.Section) string {
		if r.hasType(s.Type) {
			return skippedSame
		}
		return ""
	})
}

// Send records sections that a caller of the API asks the city to send, and returns the messages
// (orders) that contain them. A section with changed content is always sent. A section with the same
// content is sent again only in modes compact and resume, because the conversation may have lost it,
// but not if it was sent in the same mode less than [repeatedWithin] ago. The map skipped has the
// reason for each section type that is not sent.
func (r contextLog) Send(instance string, c worker.Context, at time.Time, alive func(id string) bool) (next contextLog, orders []contextMessage, skipped map[string]string, err error) { //nolint:revive // the callers need all four results
	return r.addSections(instance, c, at, alive, func(s worker.Section) string {
		last, known := r.Versions[s.Type]
		switch {
		case !known, !r.hasType(s.Type), last.Hash != hashSection(s.Content):
			return ""
		case c.Mode == "" || c.Mode == worker.FullContext:
			return skippedSame
		case last.Mode == c.Mode && at.Sub(last.At).Abs() < repeatedWithin:
			return skippedRepeat
		}
		return ""
	})
}

// addSections is the common part of AddCitySections and Send. The function skip returns the reason
// not to send a section, or an empty string to send it.
func (r contextLog) addSections(instance string, c worker.Context, at time.Time, alive func(id string) bool, skip func(worker.Section) string) (next contextLog, orders []contextMessage, skipped map[string]string, err error) { //nolint:revive // the callers need all four results
	if len(r.Types)+len(c.Sections) > maxSections {
		return r, nil, nil, fmt.Errorf("%w: an epoch has at most %d sections", worker.ErrRefused, maxSections)
	}
	var ids []string
	of, skipped := map[string][]worker.Section{}, map[string]string{}
	fresh := ""
	next = r.With(contextLog{})
	for _, s := range c.Sections {
		id := next.lostMessage(next.key(s.Type), alive)
		if id == "" {
			if skipped[s.Type] = skip(s); skipped[s.Type] != "" {
				continue
			}
			delete(skipped, s.Type)
			next.renumber(s, c.Mode, at)
			key := next.key(s.Type)
			if fresh == "" {
				fresh = "context-" + strconv.Itoa(next.Epoch) + "-" + strconv.Itoa(next.Again) + "-" + strings.TrimPrefix(next.Nonce(instance, key), "gc-")
			}
			id = fresh
			next = next.addOpen(id, key)
		} else {
			next.Versions[s.Type] = sectionVersion{Hash: hashSection(s.Content), Mode: c.Mode, At: at, Number: next.Versions[s.Type].Number}
		}
		if of[id] == nil {
			ids = append(ids, id)
		}
		of[id] = append(of[id], next.withNonce(instance, next.key(s.Type), s))
	}
	for _, id := range ids {
		orders = append(orders, contextMessage{id, worker.Context{RunID: c.RunID, Sections: of[id], Mode: c.Mode, Epoch: next.Epoch}})
	}
	return next, orders, skipped, nil
}

// renumber makes the content of s the current version of its section. The key of the previous
// version is removed if that version has arrived. renumber changes r in place.
func (r *contextLog) renumber(s worker.Section, mode worker.ContextMode, at time.Time) {
	number := r.Versions[s.Type].Number
	if previous := r.key(s.Type); r.hasType(s.Type) {
		number++
		if !r.isOpen(previous) {
			r.Types = slices.DeleteFunc(slices.Clone(r.Types), func(key string) bool { return key == previous })
		}
	}
	r.Versions[s.Type] = sectionVersion{Hash: hashSection(s.Content), Mode: mode, At: at, Number: number}
}

// isOpen reports whether the section with this key is in a message whose arrival is not confirmed
// yet.
func (r *contextLog) isOpen(key string) bool {
	for _, keys := range r.Open {
		if slices.Contains(keys, key) {
			return true
		}
	}
	return false
}

// withNonce returns a section with the nonce of its key, which is also appended to the content.
func (r contextLog) withNonce(instance, key string, s worker.Section) worker.Section {
	s.Nonce = r.Nonce(instance, key)
	s.Content += "\n\n[" + s.Nonce + "]"
	return s
}

// addOpen records that the section with a key is in the message with an ID, which the worker has not
// confirmed yet. It changes the maps of r, which must be the caller's own copy.
func (r contextLog) addOpen(id, key string) contextLog {
	r.Types = append(slices.Clip(r.Types), key)
	r.Open[id] = append(slices.Clip(r.Open[id]), key)
	return r
}

// lostMessage returns the ID of a message that contains the section with this key, that an earlier
// controller sent and that neither arrived nor is in the mailbox. It returns "" if there is none.
func (r contextLog) lostMessage(key string, alive func(id string) bool) string {
	for id, keys := range r.Open {
		if slices.Contains(keys, key) && !strings.HasPrefix(id, ClaimPrefix) && !alive(id) {
			return id
		}
	}
	return ""
}

// Retract returns the log in which the sections of these messages count as not sent.
func (r contextLog) Retract(instance string, orders []contextMessage) contextLog {
	next := r.With(contextLog{})
	for _, o := range orders {
		delete(next.Open, o.ID)
		next.Types = slices.DeleteFunc(slices.Clone(next.Types), func(key string) bool {
			gone := slices.ContainsFunc(o.Sections, func(s worker.Section) bool { return s.Nonce == next.Nonce(instance, key) })
			if gone {
				next.clearVersion(typeOfSection(key))
			}
			return gone
		})
	}
	return next
}

// clearVersion records that the content of a section is not in the conversation. It keeps the
// version number, so that the next version has another key. It changes r, which must be the
// caller's own copy.
func (r *contextLog) clearVersion(kind string) {
	if v, ok := r.Versions[kind]; ok {
		r.Versions[kind] = sectionVersion{Number: v.Number}
	}
}

// Carried returns the log in which sections of these types count as sent, because the start of the
// agent included them. For the types in sections it also records the contents, to compare them with
// later ones.
func (r contextLog) Carried(types []string, sections []worker.Section) contextLog {
	next := r.With(contextLog{})
	for _, t := range types {
		if next.hasType(t) {
			continue
		}
		next.Types = append(next.Types, t)
		for _, s := range sections {
			if s.Type == t {
				next.Versions[t] = sectionVersion{Hash: hashSection(s.Content)}
			}
		}
	}
	return next
}

// Closed returns the log after the final report about the message with this ID: gc does not wait any
// more for the arrival of the message.
func (r contextLog) Closed(id string) contextLog {
	next := r.With(contextLog{})
	delete(next.Open, id)
	return next
}

// Unseen returns the log after the final report about a message from an earlier controller.
// Sections of the message whose nonces are not in seen count as not sent.
func (r contextLog) Unseen(instance, id string, seen []string) contextLog {
	next := r.With(contextLog{})
	for _, kind := range next.Open[id] {
		if !slices.Contains(seen, next.Nonce(instance, kind)) {
			next.Types = slices.DeleteFunc(slices.Clone(next.Types), func(t string) bool { return t == kind })
			next.clearVersion(typeOfSection(kind))
			next.Pending = next.Pending || strings.HasPrefix(id, ClaimPrefix)
		}
	}
	delete(next.Open, id)
	next.Again++
	return next
}

// newEpoch returns the log of a new epoch of the conversation, in which every section is sent
// again, in the given mode. dropped are the IDs of the open messages of the previous epoch; they
// must not be sent any more.
func (r contextLog) newEpoch(at time.Time, mode worker.ContextMode) (next contextLog, dropped []string) {
	next = contextLog{Epoch: r.Epoch + 1, Compacted: r.Compacted, SeenCompactions: r.SeenCompactions, Mode: mode, Conversation: r.Conversation, Claim: r.Claim}
	if at.After(next.Compacted) {
		next.Compacted = at
	}
	return next, slices.Sorted(maps.Keys(r.Open))
}
