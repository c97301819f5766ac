// Package worker is the Factory Worker API: how an agent runtime, in any
// language, reports its life to a city, takes prompts and context, asks before it
// uses a tool and accounts for what it spent. It holds the wire types, the errors
// and a client for both sides: the worker, and the client that sends it work.
//
// # Shape
//
// The city is the server. A worker calls
//
//	POST /lifecycle    its transitions: started, ready, busy, idle, stopping, stopped
//	POST /authorize    may this tool be used with this input
//	POST /telemetry    what happened and what it cost
//	POST /interaction  a question that holds it up, and the end of one
//	POST /health       its answer to a health question
//	POST /ack          how far it has come with what it was sent
//	GET  /stream       what the city has for it, as long as it lives
//
// and the client that directs it calls
//
//	POST /prompt       a message for the agent
//	POST /context      sections of priming
//	POST /identity     who it is, and its credentials
//	POST /interrupt    end the turn
//	GET  /health       how it is
//	GET  /events       what workers reported, with a cursor
//
// A message for a worker is an event of its stream; it is sent again after a broken
// connection until the worker has acknowledged it by id.
//
// # Wire
//
// HTTP over the Unix socket <city>/.runtime/worker.sock, or over a port of
// 127.0.0.1 that stands in <city>/.runtime/worker-<session>.port. Each request
// carries "Authorization: Bearer" with the run's token, which the agent has in
// GC_WORKER_TOKEN. A token speaks for its run alone, and dies with it. Bodies
// are JSON; times are RFC 3339; errors are RFC 9457 problem documents with the
// codes of [Problem].
//
// Fields may be added: both sides ignore those they do not know. Words of an
// enumeration may be added too: a reader treats one that it does not know as it
// treats the absence of news, and never as permission.
package worker
