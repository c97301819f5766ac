// Package otlp sends what happens in a city to a collector of OpenTelemetry: traces
// and metrics as OTLP, JSON over HTTP, with the names of the conventions for generative
// AI.
//
// An [Exporter] reads the city's time line beside everybody else. A collector that is
// slow, dead or says no loses telemetry and delays nothing: what waits is bounded, and
// each request has its end.
package otlp
