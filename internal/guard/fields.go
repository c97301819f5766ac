package guard

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"gascity/internal/jsontext"
)

// field is a member of a JSON object.
type field struct {
	name  string
	value json.RawMessage
}

// errNotObject reports that the JSON value is not an object.
var errNotObject = errors.New("it is something else")

// fieldsOf returns the members of a JSON object, sorted by name. If a name occurs twice, the last
// member counts, as in other JSON decoders.
func fieldsOf(raw json.RawMessage) ([]field, error) {
	if !json.Valid(raw) {
		var none map[string]json.RawMessage
		return nil, json.Unmarshal(raw, &none) // the error contains the position
	}
	if !jsontext.IsObject(raw) {
		return nil, errNotObject
	}
	var fields []field
	for quoted, value := range jsontext.Members(raw) {
		name, err := jsontext.Text(quoted)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field{name, value})
	}
	slices.SortStableFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	kept := fields[:0]
	for i, f := range fields {
		if i+1 == len(fields) || fields[i+1].name != f.name {
			kept = append(kept, f)
		}
	}
	return kept, nil
}
