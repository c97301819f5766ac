package store

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

	"gascity/client"
)

// group identifies the events of one owner and one kind. The owner is a session, an agent
// ("agent:" and its name) or, if empty, the city. Retention divides the space among the owners and
// the share of an owner among its kinds, see [groups.allocate].
type group struct{ owner, kind string }

// groupOf returns the group of an event: those of one session, or of one agent without a session, that have the same kind.
func groupOf(e *client.Event) group {
	switch {
	case e.Session != "":
		return group{e.Session, e.Kind}
	case e.Agent != "":
		return group{"agent:" + e.Agent, e.Kind}
	}
	return group{"", e.Kind}
}

// amount is a number of events and the total size of their bodies in bytes.
type amount struct {
	count, bytes int64
	newest       uint64 // id of the newest event of a group
}

// groups contains the amount of each group in the database.
type groups map[group]amount

// add adds one event with the given ID and size to the numbers of its group.
func (g groups) add(k group, id uint64, size int64) {
	a := g[k]
	g[k] = amount{a.count + 1, a.bytes + size, max(a.newest, id)}
}

// remove subtracts one event with the given size from the numbers of its group.
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

// loadGroups counts the groups in the database.
func loadGroups(ctx context.Context, t *tx) (g groups, err error) {
	g = groups{}
	err = t.each(ctx, func(rows *sql.Rows) error {
		var k group
		var a amount
		err := rows.Scan(&k.owner, &k.kind, &a.count, &a.bytes, &a.newest)
		g[k] = a
		return err
	}, "SELECT owner, kind, count(*), sum(size), max(id) FROM event GROUP BY owner, kind")
	return g, err
}

// allocate returns how much of each group fits into the limits. Every owner gets an equal share of
// the whole, and every kind an equal share of its owner's. What one does not need is divided among
// the others. So an owner that writes many events loses its own oldest ones, of the kinds that it
// wrote most.
func (g groups) allocate(limit Retention) groups {
	byCount := g.divide(int64(limit.Events), func(a amount) int64 { return a.count })
	byBytes := g.divide(limit.Bytes, func(a amount) int64 { return a.bytes })
	out := groups{}
	for k := range g {
		out[k] = amount{count: byCount[k], bytes: byBytes[k]}
	}
	return out
}

// divide divides the total among the owners, then the share of each owner among its kinds.
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

// request is the size that a group asks for and the share that it gets.
type request struct {
	group  group
	size   int64
	newest uint64
	share  int64
}

// share divides the total among the requests and sets the share of each. A request for less than an
// equal share gets all that it asks for; the rest is divided equally among the others. What cannot
// be divided goes to the request with the newest event.
func share(wishes []*request, total int64) {
	slices.SortFunc(wishes, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.newest, b.newest))
	})
	for i, w := range wishes {
		w.share = min(w.size, total/int64(len(wishes)-i))
		total -= w.share
	}
}
