// Package web serves the web console of a city: the page, the routes of the control API for
// browsers, and terminals. It checks each request: the host, the origin, the device and its scope.
//
// A [Server] is off until it is requested. Then it has one listener. A device signs in with a code
// and proves itself by a cookie and a key. A ticket opens one terminal. docs/adr/0041 has the
// reasons.
package web
