// Package statedir manages the folder of one session: the paths of its files, and the lock that proves that its shim runs.
// Package shim documents the files.
package statedir

import (
	"context"
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

	"gascity/internal/fsutil"
)

// Folder is the path of one session's folder.
type Folder string

// nameBytes is the number of bytes of a hash in a folder's name.
const nameBytes = 8

// For returns the folder of the named session. The folder's name is a hash of the session's name: it makes the path of the
// socket short, and works on file systems that do not distinguish upper and lower case.
func For(dir, name string) Folder {
	sum := sha256.Sum256([]byte(name))
	return Folder(filepath.Join(dir, hex.EncodeToString(sum[:nameBytes])))
}

// IsFolderName reports whether the name of f has the form that [For] makes.
func IsFolderName(f Folder) bool {
	name, err := hex.DecodeString(filepath.Base(string(f)))
	return err == nil && len(name) == nameBytes
}

// Lock returns the path of the file that is locked while the shim runs.
func (f Folder) Lock() string { return filepath.Join(string(f), "lock") }

// Sock returns the path of the shim's socket.
func (f Folder) Sock() string { return filepath.Join(string(f), "sock") }

// Instance returns the path of the file that contains the instance token.
func (f Folder) Instance() string { return filepath.Join(string(f), "instance") }

// Record returns the path of the file that describes what was started.
func (f Folder) Record() string { return filepath.Join(string(f), "session.json") }

// ExitRecord returns the path of the file that describes the agent's exit.
func (f Folder) ExitRecord() string { return filepath.Join(string(f), "last.json") }

// Input returns the path of the file that is locked while a prompt is being delivered.
func (f Folder) Input() string { return filepath.Join(string(f), "input.lock") }

// Deliveries returns the path of the file with the names and outcomes of deliveries.
func (f Folder) Deliveries() string { return filepath.Join(string(f), "deliveries.json") }

// Errors returns the path of the shim's log file.
func (f Folder) Errors() string { return filepath.Join(string(f), "shim.log") }

// Prompts returns the path of the folder for prompts that are too long for a command line.
func (f Folder) Prompts() string { return filepath.Join(string(f), "prompts") }

// Claim acquires the folder's lock. It creates the folder if it is missing, and returns [ErrLocked] if another process holds
// the lock. The returned file and all its inherited copies share the lock; it is released when all of them are closed.
func (f Folder) Claim() (*os.File, error) {
	for {
		if err := os.MkdirAll(string(f), 0o700); err != nil {
			if f.changedDuring(err) {
				continue
			}
			return nil, err
		}
		file, err := os.OpenFile(f.Lock(), os.O_RDWR|os.O_CREATE, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the folder was removed between the two calls
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

// changedDuring reports whether MkdirAll failed with err because the folder was removed, and perhaps
// made again, meanwhile. An error about a folder above it, as of a broken symbolic link, stays.
func (f Folder) changedDuring(err error) bool {
	var failed *fs.PathError
	if !errors.Is(err, fs.ErrExist) || !errors.As(err, &failed) || failed.Path != string(f) {
		return false
	}
	info, err := os.Lstat(string(f))
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir()
}

// IsLocked reports whether some process holds the folder's lock. It returns false if the folder does not exist.
func (f Folder) IsLocked() (bool, error) {
	file, err := os.OpenFile(f.Lock(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	switch err := fsutil.Flock(file, syscall.LOCK_SH|syscall.LOCK_NB); {
	case err == nil:
		return false, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return true, nil
	default:
		return false, err
	}
}

// lockExclusive tries for a few milliseconds, because IsLocked in another process also holds the lock for a short time.
func lockExclusive(file *os.File) error {
	for try := 0; ; try++ {
		err := fsutil.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || try == 5 {
			return err
		}
		<-time.After(2 * time.Millisecond)
	}
}

// LockInput waits until no other caller holds the lock for input to the session. The returned function releases the lock. The
// error matches [fs.ErrNotExist] if the session does not exist: its start creates the file.
func (f Folder) LockInput(ctx context.Context) (unlock func(), err error) {
	file, err := os.OpenFile(f.Input(), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := fsutil.Lock(ctx, file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil // closing releases the lock
}

// SameFile reports whether path still names the open file.
func SameFile(file *os.File, path string) bool {
	a, err := file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// Clear removes the files of a previous instance, but not the lock. The caller must hold the lock.
func (f Folder) Clear() error {
	var errs []error
	for _, path := range []string{f.Sock(), f.Instance(), f.Record(), f.ExitRecord(), f.Input(), f.Deliveries(), f.Errors()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(f.Prompts()))...)
}

// Remove removes the whole folder, the lock last: until then no other process can start a session in it. The caller must hold
// the lock. A process that has already opened the removed lock notices that the path names another file.
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
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) { // then another process has created it again
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// RemoveIfUnused removes the folder if it has no record and no process holds its lock.
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

// Touch sets the modification time of the folder and its files to now.
func (f Folder) Touch(now time.Time) {
	for _, path := range []string{string(f), f.Lock(), f.Sock(), f.Instance(), f.Record(), f.Input(), f.Deliveries(), f.Errors()} {
		_ = os.Chtimes(path, now, now) // files that do not exist are skipped
	}
}

// Token returns the instance token that is stored in the folder.
func (f Folder) Token() (string, error) {
	b, err := os.ReadFile(f.Instance())
	return string(b), err
}

// ErrLocked reports that another process holds a folder's lock.
var ErrLocked = errors.New("session folder is in use")

// ErrDamaged reports a file that is not valid JSON.
var ErrDamaged = errors.New("is damaged")

// ReadJSON decodes the file at path into v. It returns [ErrDamaged] if the file is not valid JSON.
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

// WriteJSON encodes v and replaces the file at path atomically, with mode 0600.
func WriteJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteFile(path, b)
}

// WriteFile replaces the file at path atomically, with mode 0600.
func WriteFile(path string, b []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}

// MakePrivate creates the folder if it is missing. It returns an error if the folder does not belong to this user or if other
// users may access it.
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

// CheckTrusted returns an error if another user could replace or change a file in dir. Every folder from the root down to dir
// must belong to this user or to root, and a folder that others may write to must be sticky. Folders that do not exist are
// skipped.
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

// NotExists reports whether path does not exist.
func NotExists(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
