// Package archive carries files and folders as a stream: a tar archive with one root,
// written and read without being held in memory.
//
// The receiver does not trust the sender: nothing is written outside of the folder that is
// meant, and no link is made that leads out of it.
package archive
