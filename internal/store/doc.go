// Package store keeps everything that a city must not forget in one SQLite file.
//
// # Writing
//
// One goroutine writes. Callers hand it their change and wait; what has gathered
// while a transaction was on its way to the disk goes into the next one
// together. A change is made as a whole or not at all.
//
// Two grades of durability stand side by side. What somebody was promised
// (receipts) is on the disk when the method returns, also after a power cut.
// Everything else survives a kill -9 when the method returns, and may lose its
// last moments in a power cut.
//
// # Events
//
// [DB.Append] never waits for the disk: an event is visible at once and written
// right after. The recent past stays in memory, so that followers cost no
// queries. Ids are reserved on the disk long before they are given, so that none
// is given twice, whatever happens. After an end that was not clean, the time
// line goes on behind the reservation: a reader that resumes from before
// receives a gap, since events may have been visible that were not yet written.
//
// # Faults
//
// A store that cannot work says so with an [Error], which matches
// [ErrUnavailable]. It is no evidence about sessions. While a write fault
// stands, the store tries by itself whether it has ended; otherwise an unused
// store does nothing at all.
package store
