package usage

import (
	"cmp"
	"slices"
	"time"
)

// By states how a sum is grouped.
type By string

// The groupings.
const (
	ByAgent By = "agent"
	ByModel By = "model"
	ByHour  By = "hour" // the group is the beginning of the hour as RFC 3339, in the location that is passed to [Add]
	ByDay   By = "day"  // in the same location
	ByTool  By = "tool"
	ByAll   By = ""
)

// Sum is the total usage of one group.
type Sum struct {
	Group     string     `json:"group"`
	Responses int        `json:"responses"`
	Turns     int        `json:"turns"`
	Tokens    TokenSum   `json:"tokens"`
	CostUSD   float64    `json:"cost_usd"`          // of the responses whose cost is known
	Unpriced  int        `json:"unpriced"`          // number of responses whose cost is unknown
	Calls     int        `json:"calls,omitempty"`   // tool calls
	Failed    int        `json:"failed,omitempty"`  // failed tool calls
	TookNS    int64      `json:"took_ns,omitempty"` // total duration of the tool calls
	First     *time.Time `json:"first,omitempty"`
	Last      *time.Time `json:"last,omitempty"`
}

// TokenSum is a sum of tokens. A kind of tokens without any report is nil. Unknown is the number
// of responses that reported no number at all.
type TokenSum struct {
	Tokens
	Unknown int `json:"unknown,omitempty"`
}

// add adds the tokens of one response.
func (s *TokenSum) add(t Tokens) {
	to := s.Kinds()
	for i, from := range t.Kinds() {
		if *from.N == nil {
			continue
		}
		if *to[i].N == nil {
			*to[i].N = new(int64)
		}
		**to[i].N += min(**from.N, maxTokens) // an earlier version may have stored a greater number
	}
	if _, known := t.Total(); !known {
		s.Unknown++
	}
}

// Add returns the total usage of the entries by group. Groups are sorted by cost, the greatest
// first; hours and days by time, the earliest first. where is the location that determines the hour
// and the day.
func Add(entries []Entry, prices Prices, by By, where *time.Location) []Sum {
	groups := map[string]*Sum{}
	group := func(name string) *Sum {
		if groups[name] == nil {
			groups[name] = &Sum{Group: name}
		}
		return groups[name]
	}
	for _, e := range entries {
		if e.isFromCity() {
			continue // it contains no usage
		}
		if by == ByTool {
			for _, t := range e.Tools {
				s := group(t.Name)
				s.Calls, s.Failed, s.TookNS = s.Calls+t.Calls, s.Failed+t.Failed, s.TookNS+int64(t.Took)
			}
			continue
		}
		group(groupName(e, by, where)).entry(e, prices)
	}
	sums := make([]Sum, 0, len(groups))
	for _, s := range groups {
		sums = append(sums, *s)
	}
	slices.SortFunc(sums, func(a, b Sum) int {
		if by == ByHour || by == ByDay {
			return a.First.Compare(*b.First)
		}
		return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Calls, a.Calls), cmp.Compare(value(b.Tokens.Output), value(a.Tokens.Output)), cmp.Compare(a.Group, b.Group))
	})
	return sums
}

// value returns *n, or zero if n is nil.
func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// groupName returns the name of the group of an entry.
func groupName(e Entry, by By, where *time.Location) string {
	switch by {
	case ByAgent:
		return e.Agent
	case ByModel:
		return cmp.Or(e.Model, "unknown")
	case ByHour:
		at := e.At.In(where)
		// Truncate would be wrong in zones with an offset of half an hour.
		sinceHour := time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second + time.Duration(at.Nanosecond())
		return at.Add(-sinceHour).Format(time.RFC3339)
	case ByDay:
		return e.At.In(where).Format(time.DateOnly)
	case ByTool, ByAll:
	}
	return "all"
}

// entry adds an entry to the sum.
func (s *Sum) entry(e Entry, prices Prices) {
	if e.Turn {
		s.Turns++
	}
	if e.Reported.Model != "" || e.Model != "" || e.Cost != nil || e.Tokens != (Tokens{}) {
		s.Responses++
		s.Tokens.add(e.Tokens)
		cost, source := prices.Cost(e)
		s.CostUSD += cost
		if source == CostUnknown {
			s.Unpriced++
		}
	}
	if s.First == nil || e.At.Before(*s.First) {
		s.First = &e.At
	}
	if s.Last == nil || e.At.After(*s.Last) {
		s.Last = &e.At
	}
}
