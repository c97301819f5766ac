package guard

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// errNotObject reports that the JSON value is not an object.
var errNotObject = errors.New("it is not a JSON object")

// fieldsOf returns the members of a JSON object and their names in order. If a name occurs twice,
// the last member counts.
func fieldsOf(raw json.RawMessage) (names []string, fields map[string]json.RawMessage, err error) {
	err = json.Unmarshal(raw, &fields)
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); other || err == nil && fields == nil {
		return nil, nil, errNotObject
	}
	if err != nil {
		return nil, nil, err
	}
	names = slices.AppendSeq(make([]string, 0, len(fields)), maps.Keys(fields))
	slices.Sort(names)
	return names, fields, nil
}
