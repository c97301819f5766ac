// Package client is the control API of a city: its wire types and a client for
// it. The CLI, user interfaces and tests use nothing else.
//
// # Use
//
//	root, err := client.FindCity(".")
//	...
//	c := &client.Client{Root: root}
//	defer c.Close()
//	status, err := c.Status(ctx)
//	if errors.Is(err, client.ErrNoController) { ... }
//
// # Wire
//
// HTTP over a Unix socket that only its owner can reach, see [SocketPath]; JSON
// bodies; events as server-sent events; errors as RFC 9457 problem documents
// with stable codes, which [Problem] turns back into the sentinels of this
// package. The server describes itself in OpenAPI 3.1 at /openapi.json.
//
// One noun has one file here and in internal/server/controlapi and internal/cli. JSON field
// names are stable. Readers ignore unknown fields of an answer; the server
// refuses unknown fields of a request, so that a condition it does not know is
// never dropped in silence. Times are RFC 3339; durations are Go strings
// ("1m30s") unless a name says otherwise.
package client
