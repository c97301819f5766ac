// Package credentials keeps the credentials of a city's agents fresh, in memory alone.
//
// A [Source] returns one credential and when it ends. A [Broker] holds what the
// sources returned, renews each before it ends, once however many agents have it, and
// hands the new one to all of them. A [Lease] is what a session is to have. No value
// stands in an error, in a state or in a log; callers that show errors of a source
// pass them through what hides values.
package credentials
