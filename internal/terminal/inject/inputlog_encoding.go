package inject

import "encoding/json"

// stored is the JSON form of Deliveries.
type stored struct {
	Deliveries []storedEntry `json:"deliveries,omitempty"` // in their order
	logState
}

// storedEntry is the JSON form of an Entry.
type storedEntry struct {
	DeliveryEntry

	Undo []byte `json:"undo,omitempty"`
}

// MarshalJSON implements json.Marshaler. The result contains only the text of the last delivery, and only while that is
// open.
func (d *DeliveryLog) MarshalJSON() ([]byte, error) {
	s := stored{logState: d.logState}
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
	*d = DeliveryLog{Limit: d.Limit, logState: s.logState, entries: map[string]*DeliveryEntry{}}
	for _, stored := range s.Deliveries {
		e := &stored.DeliveryEntry
		e.undo = stored.Undo
		d.entries[e.ID], d.last = e, e
		d.order = append(d.order, e)
	}
	return nil
}
