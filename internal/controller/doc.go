// Package controller keeps a city true: it is the only loop that acts.
//
// # One loop
//
// [Controller.Run] is one goroutine that owns everything that changes. Others
// send it functions to run, or read the snapshot that it publishes. After each
// message it makes a pass: whatever is stale is looked at again, [plan.Diff]
// decides about every session, and what it decides is begun.
//
// # Level, not edge
//
// An event of a provider only says where to look. What is done follows from an
// observation that is newer than the last act, so a lost event costs time (the
// patrol finds it) and never correctness. A look that fails, and a listing that
// is incomplete, freeze every act on what it was about.
//
// # Work
//
// A session is worked on by at most one goroutine at a time: it is looked at,
// started, stopped, or changed. Each such job has a deadline. A job that ignores
// its deadline keeps its session but not its place in the limits, so it delays
// no other session.
//
// # Rest
//
// When nothing happens, nothing proportional to the fleet is done: a provider
// that pushes its events is only asked for one list per patrol. A provider that
// cannot push is looked at, session by session, at that interval.
package controller
