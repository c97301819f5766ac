// Package fsutil locks and replaces files, sends them as archives, and writes logs of bounded size.
//
// # Archives
//
// [PackArchive] and [UnpackArchive] send files and folders as a stream: a tar archive with one top-level entry. Archives are
// written and read without being stored in memory. The receiver does not trust the sender: it writes nothing outside the
// destination folder and creates no link that leads out of it.
//
// # Raw logs
//
// [RawLogWriter] stores the output of an agent, byte for byte, in a file of bounded size. [CopyRawLog] reads it back by time.
//
// A log at path has up to four files, all with mode 0600: path, its index path.idx, and after a rotation the previous ones,
// path.1 and path.1.idx. The index has a record for each second with output: the time in Unix milliseconds and the offset at
// which the output of that second begins, both as eight bytes in big-endian order. If an index is missing or damaged, reads by
// time are less precise but skip no output.
package fsutil
