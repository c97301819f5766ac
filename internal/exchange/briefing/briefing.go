// Package briefing keeps what one incarnation has been told of its context: each section
// once in each epoch of its conversation, whichever way it goes, and which of them have not
// been seen there yet. An epoch begins with the incarnation, and with each compaction and
// each new conversation. It is pure; package exchange tells.
package briefing

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

// Record is what an incarnation has had. It is never changed in place. The zero value has
// had nothing, and is owed nothing.
type Record struct {
	Epoch     int       `json:"epoch"` // compactions, and new conversations, so far
	Compacted time.Time `json:"compacted,omitzero"`
	Heard     []string  `json:"heard,omitempty"` // names of the last compactions that were reported
	Types     []string  `json:"types,omitempty"` // of sections in this epoch
	Again     int       `json:"again,omitempty"` // messages that have arrived without their sections
	// Open are those of them that are in a message of which nothing was said. One that
	// was sent, and lost with its controller, is sent again under its name.
	Open map[string][]string `json:"open,omitempty"`
	// Owed: the city's own sections of this epoch are to be given still, in this Mode; an
	// empty one is that of the incarnation's start.
	Owed bool               `json:"owed,omitempty"`
	Mode worker.ContextMode `json:"mode,omitempty"`
	// Claim is the last message that a hook has fetched, and Talk the vendor's name of the
	// conversation that it was for.
	Claim string `json:"claim,omitempty"`
	Talk  string `json:"talk,omitempty"`
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
		later.Heard = lately(slices.Concat(r.Heard, later.Heard))
		return later
	}
	r.Types = slices.Concat(r.Types, later.Types)
	r.Open = maps.Clone(r.Open)
	if r.Open == nil {
		r.Open = map[string][]string{}
	}
	maps.Copy(r.Open, later.Open)
	return r
}

// Nonce names a section of this epoch: the same section has the same, and none of another
// incarnation has it.
func (r Record) Nonce(instance, kind string) string {
	mac := hmac.New(sha256.New, []byte(instance))
	fmt.Fprintf(mac, "nonce %d %s", r.Epoch, kind)
	return "gc-" + strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil))[:10])
}

// Give notes sections as given to the incarnation, with a nonce each, and leaves out
// those that this epoch has had. alive says of a message that has sections
// whether it still is on its way; the sections of one that was sent by an earlier
// controller, and is not, go under its name again.
func (r Record) Give(instance string, c worker.Context, alive func(id string) bool) (next Record, orders []Order, err error) {
	if len(r.Types)+len(c.Sections) > MaxSections {
		return r, nil, fmt.Errorf("%w: an epoch has at most %d sections", worker.ErrRefused, MaxSections)
	}
	var ids []string
	of := map[string][]worker.Section{}
	fresh := ""
	next = r.With(Record{})
	for _, s := range c.Sections {
		id := next.lost(s.Type, alive)
		switch {
		case id != "":
		case slices.Contains(next.Types, s.Type):
			continue
		default:
			if fresh == "" {
				fresh = "context-" + strconv.Itoa(next.Epoch) + "-" + strconv.Itoa(next.Again) + "-" + strings.TrimPrefix(next.Nonce(instance, s.Type), "gc-")
			}
			id = fresh
			next = next.opened(id, s.Type)
		}
		if of[id] == nil {
			ids = append(ids, id)
		}
		of[id] = append(of[id], next.signed(instance, s))
	}
	for _, id := range ids {
		orders = append(orders, Order{id, worker.Context{RunID: c.RunID, Sections: of[id], Mode: c.Mode, Epoch: next.Epoch}})
	}
	return next, orders, nil
}

// signed is a section with its nonce, which stands in it.
func (r Record) signed(instance string, s worker.Section) worker.Section {
	s.Nonce = r.Nonce(instance, s.Type)
	s.Content += "\n\n[" + s.Nonce + "]"
	return s
}

// opened notes a section of a message; the record is the caller's own.
func (r Record) opened(id, kind string) Record {
	r.Types = append(slices.Clip(r.Types), kind)
	r.Open[id] = append(slices.Clip(r.Open[id]), kind)
	return r
}

// lost is the name of the message with a section that an earlier controller sent, and of
// which nothing was heard; empty if there is none.
func (r Record) lost(kind string, alive func(id string) bool) string {
	for id, types := range r.Open {
		if slices.Contains(types, kind) && !strings.HasPrefix(id, ClaimPrefix) && !alive(id) {
			return id
		}
	}
	return ""
}

// TakeBack takes the sections of messages for not given.
func (r Record) TakeBack(orders []Order) Record {
	next := r.With(Record{})
	for _, o := range orders {
		delete(next.Open, o.ID)
		next.Types = slices.DeleteFunc(next.Types, func(t string) bool {
			return slices.ContainsFunc(o.Sections, func(s worker.Section) bool { return s.Type == t })
		})
	}
	return next
}

// Carried takes sections for given by the start itself.
func (r Record) Carried(types []string) Record {
	next := r.With(Record{})
	for _, t := range types {
		if !slices.Contains(next.Types, t) {
			next.Types = append(next.Types, t)
		}
	}
	return next
}

// Closed notes that a message with sections has arrived.
func (r Record) Closed(id string) Record {
	next := r.With(Record{})
	delete(next.Open, id)
	return next
}

// Settled notes that nothing is owed any more.
func (r Record) Settled() Record {
	next := r.With(Record{})
	next.Owed = false
	return next
}

// Unseen closes a message of an earlier controller: what it said is not known any more,
// and what was not seen in the conversation is owed again.
func (r Record) Unseen(instance, id string, seen []string) Record {
	next := r.With(Record{})
	for _, kind := range next.Open[id] {
		if !slices.Contains(seen, next.Nonce(instance, kind)) {
			next.Types = slices.DeleteFunc(next.Types, func(t string) bool { return t == kind })
			next.Owed = next.Owed || strings.HasPrefix(id, ClaimPrefix)
		}
	}
	delete(next.Open, id)
	next.Again++
	return next
}

// renewed begins an epoch, in which every section is new again. Messages of the former one,
// whose names are returned, say nothing any more.
func (r Record) renewed(at time.Time, mode worker.ContextMode) (next Record, dropped []string) {
	next = Record{Epoch: r.Epoch + 1, Compacted: r.Compacted, Heard: r.Heard, Mode: mode, Talk: r.Talk, Claim: r.Claim}
	if at.After(next.Compacted) {
		next.Compacted = at
	}
	return next, slices.Sorted(maps.Keys(r.Open))
}
