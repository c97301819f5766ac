// Package statedir is the folder of one session: where its files are, and the lock that
// proves that its shim lives. See package shim for what is in it.
package statedir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Folder is one session's folder.
type Folder string

// nameBytes is how much of the hash of a session's name is in the name of its folder.
const nameBytes = 8

// For returns the folder of the named session. The name is hashed: a socket
// path must be short, and names differ in case only on file systems that do not.
func For(dir, name string) Folder {
	sum := sha256.Sum256([]byte(name))
	return Folder(filepath.Join(dir, hex.EncodeToString(sum[:nameBytes])))
}

// IsFolderName reports whether f has a name that [For] makes.
func IsFolderName(f Folder) bool {
	name, err := hex.DecodeString(filepath.Base(string(f)))
	return err == nil && len(name) == nameBytes
}

// Lock returns the file that is locked for as long as the shim lives.
func (f Folder) Lock() string { return filepath.Join(string(f), "lock") }

// Sock returns the shim's socket.
func (f Folder) Sock() string { return filepath.Join(string(f), "sock") }

// Instance returns the file of the instance token.
func (f Folder) Instance() string { return filepath.Join(string(f), "instance") }

// Record returns the file of what was started.
func (f Folder) Record() string { return filepath.Join(string(f), "session.json") }

// ExitRecord returns the file of how the agent ended.
func (f Folder) ExitRecord() string { return filepath.Join(string(f), "last.json") }

// Input returns the file that is locked while a prompt is being delivered.
func (f Folder) Input() string { return filepath.Join(string(f), "input.lock") }

// Errors returns the file of what the shim had to say.
func (f Folder) Errors() string { return filepath.Join(string(f), "shim.log") }

// Prompts returns the folder of prompts that are too long for a command line.
func (f Folder) Prompts() string { return filepath.Join(string(f), "prompts") }

// Claim takes the folder's lock, making the folder if need be. [ErrLocked] if
// another process holds it. The lock follows the returned file and every process
// that inherits it.
func (f Folder) Claim() (*os.File, error) {
	for {
		if err := os.MkdirAll(string(f), 0o700); err != nil {
			info, statErr := os.Lstat(string(f))
			if errors.Is(err, fs.ErrExist) && (errors.Is(statErr, fs.ErrNotExist) || statErr == nil && info.IsDir()) {
				continue // removed, and perhaps made again, during MkdirAll
			}
			return nil, err
		}
		file, err := os.OpenFile(f.Lock(), os.O_RDWR|os.O_CREATE, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed between the two lines
		}
		if err != nil {
			return nil, err
		}
		if err := lockExclusive(file); err != nil {
			_ = file.Close() // nothing was written
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, ErrLocked
			}
			return nil, fmt.Errorf("cannot lock %s: %w", f.Lock(), err)
		}
		if SameFile(file, f.Lock()) {
			return file, nil
		}
		_ = file.Close() // the previous owner removed the folder; try the new one
	}
}

// IsLocked reports whether some process holds the folder's lock. A folder that does
// not exist is not held.
func (f Folder) IsLocked() (bool, error) {
	file, err := os.OpenFile(f.Lock(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	switch err := Flock(file, syscall.LOCK_SH|syscall.LOCK_NB); {
	case err == nil:
		return false, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return true, nil
	default:
		return false, err
	}
}

// lockExclusive tries for a few milliseconds, because somebody who only asks
// whether the lock is held has it for an instant himself.
func lockExclusive(file *os.File) error {
	for try := 0; ; try++ {
		err := Flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || try == 5 {
			return err
		}
		<-time.After(2 * time.Millisecond)
	}
}

// Flock is flock(2), retried when a signal interrupts it.
func Flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// SameFile reports whether path still leads to the open file.
func SameFile(file *os.File, path string) bool {
	a, err := file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// Clear removes what a previous instance left, all but the lock. Only the
// lock's owner calls it.
func (f Folder) Clear() error {
	var errs []error
	for _, path := range []string{f.Sock(), f.Instance(), f.Record(), f.ExitRecord(), f.Input(), f.Errors()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(f.Prompts()))...)
}

// Remove removes the whole folder, the lock last: up to then no other process can
// begin something in it. Only the lock's owner calls it; a starter that already
// has the old lock open sees that the path is another file now.
func (f Folder) Remove() error {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if path := filepath.Join(string(f), e.Name()); path != f.Lock() {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	for _, path := range []string{f.Lock(), string(f)} {
		err := os.Remove(path)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) { // then another one has it already
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// RemoveIfUnused removes a folder in which nothing was started and no start is about to
// begin.
func (f Folder) RemoveIfUnused() error {
	if NotExists(string(f)) {
		return nil
	}
	lock, err := f.Claim()
	if errors.Is(err, ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if !NotExists(f.Record()) {
		return nil
	}
	return f.Remove()
}

// Touch makes the folder and its files look used.
func (f Folder) Touch(now time.Time) {
	for _, path := range []string{string(f), f.Lock(), f.Sock(), f.Instance(), f.Record(), f.Input(), f.Errors()} {
		_ = os.Chtimes(path, now, now) // what is not there needs none
	}
}

// Token returns the instance token of the instance that has the folder.
func (f Folder) Token() (string, error) {
	b, err := os.ReadFile(f.Instance())
	return string(b), err
}

// ErrLocked reports that another process holds a folder's lock.
var ErrLocked = errors.New("session folder is in use")

// ErrDamaged reports a file that holds no JSON.
var ErrDamaged = errors.New("is damaged")

// ReadJSON reads the file at path into v. [ErrDamaged] if it is no JSON.
func ReadJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s %w: %w", path, ErrDamaged, err)
	}
	return nil
}

// WriteJSON replaces path in one step, 0600.
func WriteJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteFile(path, b)
}

// WriteFile replaces path in one step, 0600.
func WriteFile(path string, b []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}

// MakePrivate makes the folder, or checks that no other user may enter it.
func MakePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s must belong to you and have mode 0700: chmod 700 it, or choose another state folder", dir)
	}
	return nil
}

// CheckTrusted returns an error if another user could replace or read something in dir: every folder
// from the root down to dir must belong to this user or to root, and one that others may write
// into must be sticky. Folders that do not exist are skipped.
func CheckTrusted(dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		default:
			stat, ok := info.Sys().(*syscall.Stat_t)
			owner := ok && (int(stat.Uid) == os.Getuid() || stat.Uid == 0)
			open := info.Mode().Perm()&0o022 != 0 && info.Mode()&(fs.ModeSticky|fs.ModeSymlink) == 0
			if !owner || open {
				return fmt.Errorf("another user can change %s (owner %d, mode %04o): give it back with chown and chmod go-w, or remove it", dir, stat.Uid, info.Mode().Perm())
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// NotExists reports whether there is nothing at path.
func NotExists(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
