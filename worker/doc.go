// Package worker is the Factory Worker API: how an agent runtime, in any
// language, reports its state to a city, receives prompts and context, asks before it
// uses a tool and reports what it spent. The package has the wire types, the errors
// and a client for both sides: the worker, and the program that sends it work.
//
// # Shape
//
// The city is the server. A worker calls
//
//	POST /lifecycle    its transitions: started, ready, busy, idle, stopping, stopped
//	POST /authorize    may this tool be used with this input
//	POST /telemetry    what happened and what it cost
//	POST /interaction  a question that blocks it, and the end of one
//	POST /health       its answer to a health question
//	POST /ack          the progress of a message that it received
//	GET  /stream       messages of the city, while the worker runs
//
// and the program that directs it calls
//
//	POST /prompt       a message for the agent
//	POST /context      sections of context
//	POST /identity     identity and credentials
//	POST /interrupt    end the turn
//	GET  /health       its condition
//	GET  /events       what workers reported, with a cursor
//
// A message for a worker is an event of its stream; it is sent again after a broken
// connection until the worker has acknowledged it by id.
//
// # Wire
//
// HTTP over the Unix socket <city>/.runtime/worker.sock, or over a port of
// 127.0.0.1 whose number is in <city>/.runtime/worker-<session>.port. Each request
// carries "Authorization: Bearer" with the run's token, which the agent has in
// GC_WORKER_TOKEN. A token is valid only for its run, and until the run ends. Bodies
// are JSON; times are RFC 3339; errors are RFC 9457 problem documents with the
// codes of [Problem].
//
// Fields may be added: both sides ignore unknown fields. Values of an
// enumeration may be added too: a reader treats an unknown value like a missing
// report, and never as permission.
package worker
