// Package controlapi serves the control API of a city over a Unix socket. The routes are in the
// table in routes.go and are described in OpenAPI 3.1 at /openapi.json.
//
// The socket belongs to one user. The server checks for each request which user is connected, and
// that the request does not come from a web page. It limits the size of the body and the time of a
// request. See [Server], and package client for the types of the API.
package controlapi
