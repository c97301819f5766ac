package config

import (
	"fmt"
	"maps"
	"slices"
)

// Origin says where a value comes from: a position in a file, or a source that is named, such as
// "default" or "profile generic".
type Origin struct {
	File   string // the path as it was given to [Load]; empty when Source is set
	Line   int    // from 1
	Column int    // from 1, in characters
	Source string // "default", "profile <name>", "environment GC_SESSION"

	offset int // of the first byte in the file
	length int // in bytes
}

// String returns "file:line", or the source's name.
func (o Origin) String() string {
	if o.File == "" {
		return o.Source
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// DefaultOrigin returns the origin of a value that is not in any file.
func DefaultOrigin() Origin { return Origin{Source: "default"} }

// Keys says which keys of a section are in the file, and where. In the zero value, no key is.
type Keys struct {
	at    Origin            // the section's header
	set   map[string]Origin // the written keys, by name
	items map[string][]Origin
}

// Has reports whether the key is in the file, also if its value is zero or empty.
func (k Keys) Has(key string) bool {
	_, ok := k.set[key]
	return ok
}

// Origin returns the position of the key's value, or [DefaultOrigin] if the key is not in the file.
func (k Keys) Origin(key string) Origin {
	if o, ok := k.set[key]; ok {
		return o
	}
	return DefaultOrigin()
}

// ItemOrigin returns the position of the item with the index i in the array of a key. If there is
// no such item, it returns the position of the key's value.
func (k Keys) ItemOrigin(key string, i int) Origin {
	if items := k.items[key]; i >= 0 && i < len(items) {
		return items[i]
	}
	return k.Origin(key)
}

// Position returns where a message about the key points: to its value or, if the key is not in the
// file, to the header of the section.
func (k Keys) Position(key string) Origin {
	if k.Has(key) {
		return k.set[key]
	}
	return k.at
}

// Header returns the position of the section's header.
func (k Keys) Header() Origin { return k.at }

// Written returns the names of the keys that are in the file, in the order of the file.
func (k Keys) Written() []string {
	names := slices.Sorted(maps.Keys(k.set))
	slices.SortStableFunc(names, func(a, b string) int { return k.set[a].offset - k.set[b].offset })
	return names
}

// record records that the key is in the file, with its value at o.
func (k *Keys) record(key string, o Origin) {
	if k.set == nil {
		k.set = map[string]Origin{}
	}
	k.set[key] = o
}

// recordItems records the positions of the items in the array of a key.
func (k *Keys) recordItems(key string, items []Origin) {
	if k.items == nil {
		k.items = map[string][]Origin{}
	}
	k.items[key] = items
}
