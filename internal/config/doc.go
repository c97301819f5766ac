// Package config reads a city's configuration, city.toml, into a [City].
//
// Reading is strict. An unknown key, a wrong type, an invalid value or a missing file is an
// [Error] with its position in the file. All errors are reported at once, sorted, as [Errors]. A
// City that was returned without an error can be resolved.
//
// Every section embeds [Keys], which records the written keys and their positions. So a written
// zero ("", 0, false, []) differs from an absent key, and gc can show the origin of each value.
//
// The struct tags of the sections describe the format. The decoder, [Schema] and the reference
// page use them. A key is a field with these tags:
//
//	toml     the key
//	doc      the rule, for people
//	default  the value of an absent key
//	alias    a second name of the key
//
// [Ignored] lists the keys that are accepted and have no effect.
//
// The package reads no environment variables and does not contain the names of runtime providers
// and agent CLIs; the caller passes them in a [Catalog]. A returned City is immutable and may be
// shared between goroutines.
package config
