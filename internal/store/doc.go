// Package store stores the durable data of a city in one SQLite file.
//
// # Writing
//
// One goroutine writes. Callers send it their change and wait. The changes that arrive during a
// transaction are combined in the next one. A change is made completely or not at all.
//
// There are two grades of durability. A change of a receipt is on the disk when the method
// returns, so it survives a power cut. Every other change survives a kill -9 when the method
// returns, but a power cut may undo the latest ones.
//
// # Events
//
// [DB.Append] never waits for the disk: an event is visible at once and written soon after. Recent
// events stay in memory, so that readers of new events need no queries. Ids are reserved on the
// disk long before they are used, so that no id is used twice. After an unclean shutdown, new ids
// begin after the reserved ones. A reader that resumes from an earlier id gets a gap, because
// events may have been visible that were not yet written.
//
// # Faults
//
// A store that cannot work returns an [Error], which matches [ErrUnavailable]. The error proves
// nothing about sessions. During a write fault, the store checks regularly whether the fault has
// ended. Without a fault and without calls it does nothing.
package store
