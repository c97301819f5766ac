package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"gascity/client"
)

// group is the events of one owner and one kind. The owner is a session, an agent
// ("agent:" and its name) or, empty, the city. Retention divides the space of the
// time line among the owners and the part of an owner among its kinds, see
// [groups.allocate].
type group struct{ owner, kind string }

// groupOf returns the group of an event.
func groupOf(e *client.Event) group {
	switch {
	case e.Session != "":
		return group{e.Session, e.Kind}
	case e.Agent != "":
		return group{"agent:" + e.Agent, e.Kind}
	}
	return group{"", e.Kind}
}

// amount is how many events there are, and the bytes of their bodies.
type amount struct {
	count, bytes int64
	newest       uint64 // id of the newest event of a group
}

// groups are the amounts of what the database holds.
type groups map[group]amount

func (g groups) add(k group, id uint64, size int64) {
	a := g[k]
	g[k] = amount{a.count + 1, a.bytes + size, max(a.newest, id)}
}

func (g groups) remove(k group, size int64) {
	a := g[k]
	a.count--
	a.bytes -= size
	if a.count <= 0 {
		delete(g, k)
		return
	}
	g[k] = a
}

func loadGroups(ctx context.Context, t *tx) (g groups, err error) {
	statement, err := t.statement(ctx, "SELECT owner, kind, count(*), sum(size), max(id) FROM event GROUP BY owner, kind")
	if err != nil {
		return nil, err
	}
	rows, err := statement.QueryContext(ctx)
	if err != nil {
		return nil, err
	}
	g = groups{}
	for rows.Next() {
		var k group
		var a amount
		if err := rows.Scan(&k.owner, &k.kind, &a.count, &a.bytes, &a.newest); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		g[k] = a
	}
	return g, errors.Join(rows.Err(), rows.Close())
}

// allocate returns how much of each group fits into the limits: every owner gets an equal
// part of the whole, and every kind an equal part of that. What one does not need is
// divided among the others. So an owner that writes much loses its own oldest events,
// and those of the kind that it wrote most.
func (g groups) allocate(limit Retention) groups {
	byCount := g.divide(int64(limit.Events), func(a amount) int64 { return a.count })
	byBytes := g.divide(limit.Bytes, func(a amount) int64 { return a.bytes })
	out := groups{}
	for k := range g {
		out[k] = amount{count: byCount[k], bytes: byBytes[k]}
	}
	return out
}

// divide divides the total among the owners and then among the kinds of each.
func (g groups) divide(total int64, size func(amount) int64) map[group]int64 {
	owners := map[string]*request{}
	kinds := map[string][]*request{}
	for k, a := range g {
		w := &request{group: k, size: size(a), newest: a.newest}
		kinds[k.owner] = append(kinds[k.owner], w)
		o := owners[k.owner]
		if o == nil {
			o = &request{group: group{owner: k.owner}}
			owners[k.owner] = o
		}
		o.size += w.size
		o.newest = max(o.newest, w.newest)
	}
	share(slices.Collect(maps.Values(owners)), total)
	out := map[group]int64{}
	for owner, wishes := range kinds {
		share(wishes, owners[owner].share)
		for _, w := range wishes {
			out[w.group] = w.share
		}
	}
	return out
}

// request is one party to a division: what it would like to have, and what it gets.
type request struct {
	group  group
	size   int64
	newest uint64
	share  int64
}

// share divides the total: a party that wants less than an equal part gets what it
// wants, and the rest is divided equally among the others. Nothing is left over that
// somebody wants. Of equal parties the one with the newest event comes last, which
// gets what does not divide.
func share(wishes []*request, total int64) {
	slices.SortFunc(wishes, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.newest, b.newest))
	})
	for i, w := range wishes {
		w.share = min(w.size, total/int64(len(wishes)-i))
		total -= w.share
	}
}
