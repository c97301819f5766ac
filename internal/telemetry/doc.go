// Package telemetry counts what happens in a city, and exports it in two ways.
//
// [WriteMetrics] writes metrics in the text format of Prometheus. The package has [Histogram], because
// the values of a histogram must be counted as they occur.
//
// An [Exporter] sends the events of a city to an OpenTelemetry collector: traces and metrics as OTLP, JSON over HTTP, with the
// names of the semantic conventions for generative AI. It reads the city's event log. If the collector is slow, unreachable or
// refuses requests, telemetry is lost, but nothing is delayed: the queue is bounded and each request has a timeout.
package telemetry
