// Package workerapi serves the Factory Worker API of one city: its transports,
// who may say what, limits, routes and the stream of each run. It decides nothing:
// what is asked goes to the [City]. Types and errors are those of package worker,
// and one noun has one file here and there.
package workerapi
