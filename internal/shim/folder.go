package shim

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

// folder is one session's folder.
type folder string

// folderFor returns the folder of the named session. The name is hashed: a socket
// path must be short, and names differ in case only on file systems that do not.
func folderFor(dir, name string) folder {
	sum := sha256.Sum256([]byte(name))
	return folder(filepath.Join(dir, hex.EncodeToString(sum[:8])))
}

func (f folder) lock() string     { return filepath.Join(string(f), "lock") }
func (f folder) sock() string     { return filepath.Join(string(f), "sock") }
func (f folder) instance() string { return filepath.Join(string(f), "instance") }
func (f folder) record() string   { return filepath.Join(string(f), "session.json") }
func (f folder) corpse() string   { return filepath.Join(string(f), "last.json") }
func (f folder) input() string    { return filepath.Join(string(f), "input.lock") }
func (f folder) errors() string   { return filepath.Join(string(f), "shim.log") }
func (f folder) prompts() string  { return filepath.Join(string(f), "prompts") }

// claim takes the folder's lock, making the folder if need be. [ErrTaken] if
// another process holds it. The lock follows the returned file and every process
// that inherits it.
func (f folder) claim() (*os.File, error) {
	for {
		if err := os.MkdirAll(string(f), 0o700); err != nil {
			return nil, err
		}
		file, err := os.OpenFile(f.lock(), os.O_RDWR|os.O_CREATE, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed between the two lines
		}
		if err != nil {
			return nil, err
		}
		if err := lockExclusive(file); err != nil {
			_ = file.Close() // nothing was written
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, ErrTaken
			}
			return nil, fmt.Errorf("cannot lock %s: %w", f.lock(), err)
		}
		if sameFile(file, f.lock()) {
			return file, nil
		}
		_ = file.Close() // the former owner removed the folder; try the new one
	}
}

// held reports whether some process holds the folder's lock. A folder that does
// not exist is not held.
func (f folder) held() (bool, error) {
	file, err := os.OpenFile(f.lock(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	switch err := flock(file, syscall.LOCK_SH|syscall.LOCK_NB); {
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
		err := flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || try == 5 {
			return err
		}
		<-time.After(2 * time.Millisecond)
	}
}

// flock retries when a signal interrupts it.
func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func sameFile(file *os.File, path string) bool {
	a, err := file.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// clear removes what a former incarnation left, all but the lock. Only the
// lock's owner calls it.
func (f folder) clear() error {
	var errs []error
	for _, path := range []string{f.sock(), f.instance(), f.record(), f.corpse(), f.input(), f.errors()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(f.prompts()))...)
}

// remove removes the whole folder, the lock last: up to then nobody else can begin
// something in it. Only the lock's owner calls it; a starter that already has the
// old lock open sees that the path is another file now.
func (f folder) remove() error {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if path := filepath.Join(string(f), e.Name()); path != f.lock() {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	for _, path := range []string{f.lock(), string(f)} {
		err := os.Remove(path)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) { // then another one has it already
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// tidy removes a folder in which nothing was started and nobody is about to.
func (f folder) tidy() error {
	if gone(string(f)) {
		return nil
	}
	lock, err := f.claim()
	if errors.Is(err, ErrTaken) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if !gone(f.record()) {
		return nil
	}
	return f.remove()
}

// touch makes the folder and its files look used.
func (f folder) touch(now time.Time) {
	for _, path := range []string{string(f), f.lock(), f.sock(), f.instance(), f.record(), f.input(), f.errors()} {
		_ = os.Chtimes(path, now, now) // what is not there needs none
	}
}

func (f folder) token() (string, error) {
	b, err := os.ReadFile(f.instance())
	return string(b), err
}

func (f folder) readRecord() (Record, error) {
	var r Record
	err := readJSON(f.record(), &r)
	if err == nil && r.Version > recordVersion {
		err = fmt.Errorf("%s was written by a newer gc (format %d); upgrade this one", f.record(), r.Version)
	}
	return r, err
}

func (f folder) readCorpse() (Corpse, error) {
	var c Corpse
	err := readJSON(f.corpse(), &c)
	return c, err
}

var errDamaged = errors.New("is damaged")

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s %w: %w", path, errDamaged, err)
	}
	return nil
}

// writeJSON replaces path in one step, 0600.
func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFile(path, b)
}

func writeFile(path string, b []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}
