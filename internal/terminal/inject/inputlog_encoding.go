package inject

import "encoding/json"

// stored is the JSON form of Deliveries.
type stored struct {
	Deliveries []storedEntry `json:"deliveries,omitempty"` // in their order
	Forgot     bool          `json:"forgot,omitempty"`
	Unread     bool          `json:"unread,omitempty"`
	News       bool          `json:"news,omitempty"`
	Shows      bool          `json:"shows,omitempty"`
	Partial    bool          `json:"partial,omitempty"`
	Unfinished bool          `json:"unfinished,omitempty"`
	Characters int           `json:"characters,omitempty"` // of the unfinished line
}

// storedEntry is the JSON form of an Entry.
type storedEntry struct {
	DeliveryEntry

	Undo []byte `json:"undo,omitempty"`
}

// MarshalJSON implements json.Marshaler. The result contains only the text of the last delivery, and only while that is
// open.
func (d *DeliveryLog) MarshalJSON() ([]byte, error) {
	s := stored{Forgot: d.forgot, Unread: d.unread, News: d.news, Shows: d.shows, Partial: d.partial, Unfinished: d.unfinished, Characters: d.characters}
	for _, e := range d.order {
		s.Deliveries = append(s.Deliveries, storedEntry{*e, e.undo})
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler. It replaces the log and does not change Limit.
func (d *DeliveryLog) UnmarshalJSON(data []byte) error {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*d = DeliveryLog{
		Limit: d.Limit, forgot: s.Forgot, unread: s.Unread, news: s.News, shows: s.Shows, partial: s.Partial, unfinished: s.Unfinished,
		characters: s.Characters, entries: map[string]*DeliveryEntry{},
	}
	for _, stored := range s.Deliveries {
		e := &stored.DeliveryEntry
		e.undo = stored.Undo
		d.entries[e.ID], d.last = e, e
		d.order = append(d.order, e)
	}
	return nil
}
