// Package client is the control API of a city: its wire types and a client for
// it. The CLI, user interfaces and tests use nothing else.
//
// One noun has one file here and in internal/api and internal/cli. JSON field
// names are stable; unknown fields are to be ignored; times are RFC 3339;
// durations are Go strings ("1m30s") unless a name says otherwise.
package client
