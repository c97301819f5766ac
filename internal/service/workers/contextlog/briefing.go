// Package contextlog records which sections of its context one instance has received: each
// section once in each epoch of its conversation, by any way, and which of them have not
// been seen there yet. An epoch begins with the instance, and with each compaction and each
// new conversation. It is pure; package workers sends.
package contextlog

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

// MaxSections is how many sections an epoch may have.
const MaxSections = 64

// ClaimPrefix begins the name of a message that a hook has fetched. Such a message is
// never sent again: what it says may stand in the conversation already.
const ClaimPrefix = "claim-"

// Record is what an instance has had. It is never changed in place. The zero value has
// had nothing, and is owed nothing.
type Record struct {
	Epoch           int       `json:"epoch"` // compactions, and new conversations, so far
	Compacted       time.Time `json:"compacted,omitzero"`
	SeenCompactions []string  `json:"heard,omitempty"` // names of the last compactions that were reported
	Types           []string  `json:"types,omitempty"` // keys of sections in this epoch, see key
	// Versions are the contents that were last given of each type in this epoch. A type that a
	// start brought, or an earlier version of gc gave, may have none.
	Versions map[string]Version `json:"versions,omitempty"`
	Again    int                `json:"again,omitempty"` // messages that have arrived without their sections
	// Open are those of them that are in a message without a report yet. One that was
	// sent, and lost with its controller, is sent again under its name.
	Open map[string][]string `json:"open,omitempty"`
	// Pending: the city's own sections of this epoch are to be given still, in this Mode; an
	// empty one is that of the instance's start.
	Pending bool               `json:"owed,omitempty"`
	Mode    worker.ContextMode `json:"mode,omitempty"`
	// Claim is the last message that a hook has fetched, and Talk the model provider's name of the
	// conversation that it was for.
	Claim        string `json:"claim,omitempty"`
	Conversation string `json:"talk,omitempty"`
}

// Version is one content of a section.
type Version struct {
	Hash   string             `json:"hash"`
	Mode   worker.ContextMode `json:"mode,omitempty"`
	At     time.Time          `json:"at,omitzero"`
	Number int                `json:"number,omitempty"` // of earlier versions in the epoch
}

// hash names a content.
func hash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return base32.StdEncoding.EncodeToString(sum[:15])
}

// key names the current version of a section in Types and Open: its type, and for a later version a
// line with its number.
func (r Record) key(kind string) string {
	if n := r.Versions[kind].Number; n > 0 {
		return kind + "\n" + strconv.Itoa(n)
	}
	return kind
}

// typeOf returns the type of a key.
func typeOf(key string) string {
	kind, _, _ := strings.Cut(key, "\n")
	return kind
}

// had reports whether some version of a section was given in this epoch.
func (r Record) had(kind string) bool {
	return slices.ContainsFunc(r.Types, func(key string) bool { return typeOf(key) == kind })
}

// Order is one message with sections.
type Order struct {
	ID string
	worker.Context
}

// With adds what was given since.
func (r Record) With(later Record) Record {
	if later.Epoch > 0 {
		later.Epoch += r.Epoch
		later.SeenCompactions = newestSeen(slices.Concat(r.SeenCompactions, later.SeenCompactions))
		return later
	}
	r.Types = slices.Concat(r.Types, later.Types)
	r.Open = maps.Clone(r.Open)
	if r.Open == nil {
		r.Open = map[string][]string{}
	}
	maps.Copy(r.Open, later.Open)
	r.Versions = maps.Clone(r.Versions)
	if r.Versions == nil {
		r.Versions = map[string]Version{}
	}
	maps.Copy(r.Versions, later.Versions)
	return r
}

// Nonce names a section of this epoch: the same section has the same, and none of another
// instance has it.
func (r Record) Nonce(instance, key string) string {
	mac := hmac.New(sha256.New, []byte(instance))
	fmt.Fprintf(mac, "nonce %d %s", r.Epoch, key)
	return "gc-" + strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil))[:10])
}

// Why a section is not sent, for the caller.
const (
	skippedSame   = "the agent has this section with the same content in this conversation; it is sent again when its content changes, or after a compaction was reported"
	skippedRepeat = "the same section was sent in this mode less than a minute ago"
)

// repeatedWithin is for how long the same section in mode compact or resume counts as the same
// request, made again.
const repeatedWithin = time.Minute

// AddCitySections records the city's own sections as given to the instance, with a nonce each, and leaves out
// those that this epoch has had in any version. alive says of a message that has sections
// whether it still is on its way; the sections of one that an earlier controller sent and that
// is not on its way any more go under its name again.
func (r Record) AddCitySections(instance string, c worker.Context, at time.Time, alive func(id string) bool) (next Record, orders []Order, err error) {
	next, orders, _, err = r.addSections(instance, c, at, alive, func(s worker.Section) string {
		if r.had(s.Type) {
			return skippedSame
		}
		return ""
	})
	return next, orders, err
}

// Send is Give for sections that somebody else asks the city to give. One goes again when its content has
// changed, and in the modes compact and resume, which say that the conversation may have lost it.
// skipped says by type why a section is not sent.
func (r Record) Send(instance string, c worker.Context, at time.Time, alive func(id string) bool) (next Record, orders []Order, skipped map[string]string, err error) { //nolint:revive // the answer has all four
	return r.addSections(instance, c, at, alive, func(s worker.Section) string {
		last, known := r.Versions[s.Type]
		switch {
		case !known, !r.had(s.Type), last.Hash != hash(s.Content):
			return ""
		case c.Mode == "" || c.Mode == worker.FullContext:
			return skippedSame
		case last.Mode == c.Mode && at.Sub(last.At).Abs() < repeatedWithin:
			return skippedRepeat
		}
		return ""
	})
}

// addSections is Give and Send; skip says why a section is not sent, empty if it is.
func (r Record) addSections(instance string, c worker.Context, at time.Time, alive func(id string) bool, skip func(worker.Section) string) (next Record, orders []Order, skipped map[string]string, err error) { //nolint:revive // the answer has all four
	if len(r.Types)+len(c.Sections) > MaxSections {
		return r, nil, nil, fmt.Errorf("%w: an epoch has at most %d sections", worker.ErrRefused, MaxSections)
	}
	var ids []string
	of, skipped := map[string][]worker.Section{}, map[string]string{}
	fresh := ""
	next = r.With(Record{})
	for _, s := range c.Sections {
		id := next.lost(next.key(s.Type), alive)
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
			next = next.opened(id, key)
		} else {
			next.Versions[s.Type] = Version{Hash: hash(s.Content), Mode: c.Mode, At: at, Number: next.Versions[s.Type].Number}
		}
		if of[id] == nil {
			ids = append(ids, id)
		}
		of[id] = append(of[id], next.signed(instance, next.key(s.Type), s))
	}
	for _, id := range ids {
		orders = append(orders, Order{id, worker.Context{RunID: c.RunID, Sections: of[id], Mode: c.Mode, Epoch: next.Epoch}})
	}
	return next, orders, skipped, nil
}

// renumber makes a content the current version of its section. An earlier version that has arrived is
// forgotten. The record is the caller's own.
func (r *Record) renumber(s worker.Section, mode worker.ContextMode, at time.Time) {
	number := r.Versions[s.Type].Number
	if former := r.key(s.Type); r.had(s.Type) {
		number++
		if !r.open(former) {
			r.Types = slices.DeleteFunc(slices.Clone(r.Types), func(key string) bool { return key == former })
		}
	}
	r.Versions[s.Type] = Version{Hash: hash(s.Content), Mode: mode, At: at, Number: number}
}

// open reports whether a key is in a message without a report yet.
func (r *Record) open(key string) bool {
	for _, keys := range r.Open {
		if slices.Contains(keys, key) {
			return true
		}
	}
	return false
}

// signed returns a section with the nonce of its key, which stands in it.
func (r Record) signed(instance, key string, s worker.Section) worker.Section {
	s.Nonce = r.Nonce(instance, key)
	s.Content += "\n\n[" + s.Nonce + "]"
	return s
}

// opened records a section of a message; the record is the caller's own.
func (r Record) opened(id, key string) Record {
	r.Types = append(slices.Clip(r.Types), key)
	r.Open[id] = append(slices.Clip(r.Open[id]), key)
	return r
}

// lost returns the name of the message with a section that an earlier controller sent
// and that was never reported; empty if there is none.
func (r Record) lost(key string, alive func(id string) bool) string {
	for id, keys := range r.Open {
		if slices.Contains(keys, key) && !strings.HasPrefix(id, ClaimPrefix) && !alive(id) {
			return id
		}
	}
	return ""
}

// Retract takes the sections of messages for not given.
func (r Record) Retract(instance string, orders []Order) Record {
	next := r.With(Record{})
	for _, o := range orders {
		delete(next.Open, o.ID)
		next.Types = slices.DeleteFunc(slices.Clone(next.Types), func(key string) bool {
			gone := slices.ContainsFunc(o.Sections, func(s worker.Section) bool { return s.Nonce == next.Nonce(instance, key) })
			if gone {
				next.forget(typeOf(key))
			}
			return gone
		})
	}
	return next
}

// forget records that the content of a section is not there any more; its number stays, so that its
// next version has another name. The record is the caller's own.
func (r *Record) forget(kind string) {
	if v, ok := r.Versions[kind]; ok {
		r.Versions[kind] = Version{Number: v.Number}
	}
}

// Carried takes sections for given by the start itself. The contents of those that are known are
// compared with what is sent later.
func (r Record) Carried(types []string, sections []worker.Section) Record {
	next := r.With(Record{})
	for _, t := range types {
		if next.had(t) {
			continue
		}
		next.Types = append(next.Types, t)
		for _, s := range sections {
			if s.Type == t {
				next.Versions[t] = Version{Hash: hash(s.Content)}
			}
		}
	}
	return next
}

// Closed records that a message with sections has arrived.
func (r Record) Closed(id string) Record {
	next := r.With(Record{})
	delete(next.Open, id)
	return next
}

// ClearPending records that nothing is owed any more.
func (r Record) ClearPending() Record {
	next := r.With(Record{})
	next.Pending = false
	return next
}

// Unseen closes a message of an earlier controller: what it said is not known any more,
// and what was not seen in the conversation is owed again.
func (r Record) Unseen(instance, id string, seen []string) Record {
	next := r.With(Record{})
	for _, kind := range next.Open[id] {
		if !slices.Contains(seen, next.Nonce(instance, kind)) {
			next.Types = slices.DeleteFunc(slices.Clone(next.Types), func(t string) bool { return t == kind })
			next.forget(typeOf(kind))
			next.Pending = next.Pending || strings.HasPrefix(id, ClaimPrefix)
		}
	}
	delete(next.Open, id)
	next.Again++
	return next
}

// renewed begins an epoch, in which every section is new again. Messages of the previous one,
// whose names are returned, say nothing any more.
func (r Record) renewed(at time.Time, mode worker.ContextMode) (next Record, dropped []string) {
	next = Record{Epoch: r.Epoch + 1, Compacted: r.Compacted, SeenCompactions: r.SeenCompactions, Mode: mode, Conversation: r.Conversation, Claim: r.Claim}
	if at.After(next.Compacted) {
		next.Compacted = at
	}
	return next, slices.Sorted(maps.Keys(r.Open))
}
