// Package credentials renews the credentials of a city's agents. Values are kept in memory only.
//
// A [Source] returns one credential and its expiry time. A [Broker] holds the values of the
// sources. It renews each value before it expires, once for all agents that use it, and sends the
// new value to all of them. Errors, states and logs contain no values; callers that show an error of
// a source must mask values in it.
package credentials
