package inputlog

import "encoding/json"

// stored is the account as JSON.
type stored struct {
	Deliveries []storedEntry `json:"deliveries,omitempty"` // in their order
	Forgot     bool          `json:"forgot,omitempty"`
	Unread     bool          `json:"unread,omitempty"`
	News       bool          `json:"news,omitempty"`
	Shows      bool          `json:"shows,omitempty"`
	Partial    bool          `json:"partial,omitempty"`
}

type storedEntry struct {
	Entry

	Undo []byte `json:"undo,omitempty"`
}

// MarshalJSON encodes the account. It holds the text of the last delivery for as long as
// that is open, and of no other.
func (d *Deliveries) MarshalJSON() ([]byte, error) {
	s := stored{Forgot: d.forgot, Unread: d.unread, News: d.news, Shows: d.shows, Partial: d.partial}
	for _, e := range d.order {
		s.Deliveries = append(s.Deliveries, storedEntry{*e, e.undo})
	}
	return json.Marshal(s)
}

// UnmarshalJSON puts an account in the place of this one. Limit stays as it is.
func (d *Deliveries) UnmarshalJSON(data []byte) error {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*d = Deliveries{Limit: d.Limit, forgot: s.Forgot, unread: s.Unread, news: s.News, shows: s.Shows, partial: s.Partial, entries: map[string]*Entry{}}
	for _, stored := range s.Deliveries {
		e := &stored.Entry
		e.undo, e.Rest = stored.Undo, max(e.Rest, e.Marks*len(Mark)) // an older account has no Rest
		d.entries[e.ID], d.last = e, e
		d.order = append(d.order, e)
	}
	return nil
}
