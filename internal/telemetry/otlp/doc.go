// Package otlp sends the events of a city to an OpenTelemetry collector: traces and metrics as OTLP, JSON over HTTP, with the
// names of the semantic conventions for generative AI.
//
// An [Exporter] reads the city's event log. If the collector is slow, unreachable or refuses requests, telemetry is lost, but
// nothing is delayed: the queue is bounded and each request has a timeout.
package otlp
