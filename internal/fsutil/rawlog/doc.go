// Package rawlog keeps what an agent printed, byte for byte, in a file of bounded
// size, and reads it again from a moment in time.
//
// A log at path has up to four files, all 0600: path, its index path.idx, and,
// once it was rotated, the previous ones, path.1 and path.1.idx. The index has a
// record for each second in which something was printed: the time in unix
// milliseconds and the offset at which that second's output begins, both eight
// bytes, big end first. An index that is missing or damaged costs precision and
// never output: what has no time is read.
package rawlog
