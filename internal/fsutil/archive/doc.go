// Package archive sends files and folders as a stream: a tar archive with one top-level entry. Archives are written and read
// without being stored in memory.
//
// The receiver does not trust the sender: it writes nothing outside the destination folder and creates no link that leads out
// of it.
package archive
