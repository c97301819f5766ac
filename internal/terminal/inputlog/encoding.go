package inputlog

import "encoding/json"

// stored is the JSON form of Deliveries.
type stored struct {
	Deliveries []storedEntry `json:"deliveries,omitempty"` // in their order
	Forgot     bool          `json:"forgot,omitempty"`
	Unread     bool          `json:"unread,omitempty"`
	News       bool          `json:"news,omitempty"`
	Shows      bool          `json:"shows,omitempty"`
	Partial    bool          `json:"partial,omitempty"`
}

// storedEntry is the JSON form of an Entry.
type storedEntry struct {
	Entry

	Undo []byte `json:"undo,omitempty"`
}

// MarshalJSON implements json.Marshaler. The result contains only the text of the last delivery, and only while that is
// open.
func (d *Deliveries) MarshalJSON() ([]byte, error) {
	s := stored{Forgot: d.forgot, Unread: d.unread, News: d.news, Shows: d.shows, Partial: d.partial}
	for _, e := range d.order {
		s.Deliveries = append(s.Deliveries, storedEntry{*e, e.undo})
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler. It replaces the log and does not change Limit.
func (d *Deliveries) UnmarshalJSON(data []byte) error {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*d = Deliveries{Limit: d.Limit, forgot: s.Forgot, unread: s.Unread, news: s.News, shows: s.Shows, partial: s.Partial, entries: map[string]*Entry{}}
	for _, stored := range s.Deliveries {
		e := &stored.Entry
		e.undo, e.Rest = stored.Undo, max(e.Rest, e.Marks*len(Mark)) // a log of an older gc has no Rest
		d.entries[e.ID], d.last = e, e
		d.order = append(d.order, e)
	}
	return nil
}
