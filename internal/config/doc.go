// Package config reads a city's configuration, city.toml, into a [City].
//
// Reading is strict. An unknown key, a wrong type, a value that cannot be
// meant or a file that is not there is an [Error] with its place in the file,
// and all of them are reported at once, sorted, as [Errors]. A City that was
// returned without an error can be resolved.
//
// Every section embeds [Keys], which holds the keys that were written and where;
// that is how a written zero ("", 0, false, []) differs from an absent key, and
// how the origin of each value can be shown.
//
// The struct tags of the sections are the one description of the format: the
// decoder, the JSON Schema of [Schema] and the reference of [Reference] read
// them. A key is a field with these tags:
//
//	toml     the key; a trailing * takes every key with that prefix
//	doc      the rule, for people
//	default  the value of an absent key
//	alias    a second name of the key
//	later    the feature that the key belongs to, when the key is accepted but
//	         has no effect yet
//
// The package reads no environment variable and knows no provider and no agent
// CLI by name: [Catalog] hands them in. A City is immutable once returned and may
// be shared between goroutines.
package config
