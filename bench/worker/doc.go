// Package worker measures the worker API: what an authorization costs beside an empty
// handler, what the guard costs in it, and how many there can be.
//
//	go test -run '^$' -bench . ./bench/worker
package worker
