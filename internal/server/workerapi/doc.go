// Package workerapi serves the Factory Worker API of one city. It contains the transports, the
// checks of callers, the limits, the routes, and the stream of each run. All decisions are made by
// the [City]. The types and errors are in package worker.
package workerapi
