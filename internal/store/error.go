package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"gascity/client"
)

var (
	// ErrUnavailable reports that the store cannot read or write now. It proves nothing about the
	// stored data or about sessions.
	ErrUnavailable = client.ErrUnavailable
	// ErrNewer reports a database that a later version of gc has written. The database is not
	// changed.
	ErrNewer = errors.New("the database is newer than this gc")
	// ErrClosed reports a call after [DB.Close].
	ErrClosed = errors.New("the store is closed")
	// ErrMissing reports that there is no database although the city had one. It is used in
	// [Damage] only.
	ErrMissing = errors.New("the database is missing")
	// ErrDamaged reports that the contents of the database are invalid.
	ErrDamaged = errors.New("the database is damaged")
)

// Error describes why the store could not do something. It matches [ErrUnavailable], and also
// [ErrDamaged] if the database is damaged.
type Error struct {
	Op     string // the operation: "save a receipt"
	Path   string // the database
	Reason string // the problem: "the disk is full"
	Remedy string // what a person can do about it
	Err    error  // the cause
}

// Error returns the message for people, with the cause and the remedy.
func (e *Error) Error() string {
	return fmt.Sprintf("cannot %s: %s: %s (%v); %s", e.Op, e.Path, e.Reason, e.Err, e.Remedy)
}

// Unwrap returns [ErrUnavailable] and the cause.
func (e *Error) Unwrap() []error { return []error{ErrUnavailable, e.Err} }

// RowError names a stored row that cannot be read. It does not match [ErrUnavailable]: all other
// rows were read.
type RowError struct {
	Kind string // "session record", "receipt", ...
	Key  string
	Err  error
}

// Error returns the message for people.
func (e *RowError) Error() string {
	return fmt.Sprintf("the %s of %s cannot be read and is left out: %v", e.Kind, e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// errSlow is the cause when an operation takes longer than Options.Timeout.
var errSlow = errors.New("no answer in time")

// restartNow is the remedy when the store's files were removed or replaced.
const restartNow = "run gc controller stop, then gc start; agents keep running"

// fault is a kind of problem and its remedy.
type fault struct{ reason, remedy string }

var (
	faultFull     = fault{"the disk is full", "free some space; the store continues by itself"}
	faultLocked   = fault{"another process holds the database", "stop the program that has it open; the store continues by itself"}
	faultReadOnly = fault{"the database cannot be written", "make the file, its folder and its file system writable for this user"}
	faultDisk     = fault{"the disk reports an error", "check the system log and the free space; the store continues by itself"}
	faultSlow     = fault{"the disk is too slow", "check what keeps the disk busy; the change may have been saved anyway"}
	faultDamaged  = fault{"the database is damaged", "restart the controller: it renames the database and creates a new one; agents keep running"}
	faultGone     = fault{"the file was removed while the controller ran", restartNow}
	faultReplaced = fault{"the file was replaced while the controller ran", restartNow}
	faultOther    = fault{"the database does not work", "restart the controller; agents keep running"}
)

// unavailable converts an error of SQLite, of the file system or of a time limit to an [Error] with
// its reason and remedy. The store's own errors are returned unchanged. Any other error is not a
// fault of the store; op, the name of the operation, is added to it.
func unavailable(op, path string, err error) error {
	if err == nil || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrClosed) || errors.Is(err, ErrNewer) {
		return err
	}
	kind, known := faultOf(err)
	if !known {
		return fmt.Errorf("cannot %s: %w", op, err)
	}
	if kind == faultDamaged {
		err = errors.Join(ErrDamaged, err)
	}
	return &Error{Op: op, Path: path, Reason: kind.reason, Remedy: kind.remedy, Err: err}
}

// notOpened does the same as [unavailable] for a store that could not be opened. Its remedy is to
// start the controller again, because a store that was not opened does not try again by itself.
func notOpened(op, path string, err error) error {
	err = unavailable(op, path, err)
	if failed := new(Error); errors.As(err, &failed) {
		if what, ok := strings.CutSuffix(failed.Remedy, "; the store continues by itself"); ok {
			failed.Remedy = what + ", then: gc start (agents keep running meanwhile)"
			if failed.Reason == faultFull.reason {
				failed.Remedy += "; to stop all agents before that: gc stop --without-controller"
			}
		}
	}
	return err
}

// faultOf returns the kind of problem of an error. known is false if the error is not a fault of
// the store.
func faultOf(err error) (kind fault, known bool) {
	var engine *sqlite.Error
	switch {
	case errors.As(err, &engine):
		return engineFault(engine.Code() & 0xff)
	case errors.Is(err, errSlow):
		return faultSlow, true
	case errors.Is(err, errGone):
		return faultGone, true
	case errors.Is(err, errReplaced):
		return faultReplaced, true
	case errors.Is(err, ErrDamaged):
		return faultDamaged, true
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return faultFull, true
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return faultReadOnly, true
	case errors.As(err, new(*fs.PathError)):
		return faultDisk, true
	}
	return fault{}, false
}

// engineFault returns the kind of problem for a SQLite result code.
func engineFault(code int) (kind fault, known bool) {
	switch code {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
		return fault{}, false
	case sqlite3.SQLITE_FULL:
		return faultFull, true
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return faultLocked, true
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN:
		return faultReadOnly, true
	case sqlite3.SQLITE_IOERR:
		return faultDisk, true
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return faultDamaged, true
	}
	return faultOther, true
}
