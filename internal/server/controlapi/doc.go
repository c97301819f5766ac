// Package controlapi serves the control API of a city over a Unix socket: the routes
// of the table in routes.go, described in OpenAPI 3.1 at /openapi.json.
//
// The socket belongs to one user. Every request is checked for the user at the
// other end, and for the marks of a browser that was talked into calling us;
// the body and the time that a request may take are bounded. See [Listen] for
// the socket, [Server] for the rest, and package client for the wire types.
package controlapi
