// Package citydir defines the directories and files of a city, checks who can access them, and
// locks the city for its one controller.
package citydir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gascity/client"
)

// Directories and files of a city.
const (
	StateFolder   = ".gc"
	RuntimeFolder = ".runtime"
	ChoiceFile    = "runtime-dir" // in StateFolder: the path of the directory with the sockets of shims
	LockFile      = "controller.lock"
	LogFolder     = "log"
	HooksFolder   = "hooks" // in StateFolder: files of the agents' hooks
	// ProviderFolder, in StateFolder, holds the persistent files of drivers.
	ProviderFolder = "provider"
	StoreFile      = "city.db"
	LogFile        = "controller.log"

	Private     = 0o700 // the mode of a directory that only this user can access
	PrivateFile = 0o600

	// TailLength is the length that a driver adds to the path of the directory: its name, a
	// session's directory and the socket.
	TailLength = len("/subprocess/0123456789abcdef/sock")
	idBytes    = 6
)

// PublicTempDir is the directory for temporary files of all users. Its path is short on every
// platform.
const PublicTempDir = "/tmp"

// ID returns a short identifier of a city for use in paths: the first bytes of a hash of root.
func ID(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:idBytes])
}

// RuntimeDir returns the private directory with a short path for the sockets of the city's shims,
// and creates it. The first call chooses among bases, the user's directories that may contain it,
// the preferred one first. It writes the choice to [ChoiceFile]; later processes read it there and
// so find the same shims.
func RuntimeDir(root string, bases ...string) (string, error) {
	choice := filepath.Join(root, StateFolder, ChoiceFile)
	if err := os.MkdirAll(filepath.Dir(choice), Private); err != nil {
		return "", fmt.Errorf("cannot make the city directory: %w", err)
	}
	written, err := os.ReadFile(choice)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("cannot read the file that names the directory of the sessions: %w", err)
	}
	if dir := strings.TrimSpace(string(written)); filepath.IsAbs(dir) {
		if err := MakePrivate(dir); err == nil {
			return dir, nil
		} else if _, there := os.Lstat(dir); there == nil {
			return "", err // it exists, and other users can access it
		}
	}
	var errs []error
	for _, dir := range candidates(root, bases) {
		if err := MakePrivate(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		if len(written) > 0 {
			return dir, choose(choice, dir, os.Rename)
		}
		if err := choose(choice, dir, os.Link); errors.Is(err, fs.ErrExist) {
			return RuntimeDir(root, bases...) // another process wrote a choice at the same time
		} else if err != nil {
			return "", err
		}
		return dir, nil
	}
	return "", fmt.Errorf("there is no private folder for the sockets of sessions; set XDG_STATE_HOME or XDG_RUNTIME_DIR to one: %w", errors.Join(errs...))
}

// RemoveEmptyRuntimeDir removes the directory for sockets if it holds no session. Only the city's
// controller calls it, or the last holder of [LockShared], because no other process starts
// sessions.
func RemoveEmptyRuntimeDir(root string) {
	choice := filepath.Join(root, StateFolder, ChoiceFile)
	written, err := os.ReadFile(choice)
	dir := strings.TrimSpace(string(written))
	if err != nil || filepath.Base(dir) != ID(root) {
		return
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, syscall.Rmdir(filepath.Join(dir, e.Name()))) // the directory of a driver, only if it is empty
		}
	}
	if err != nil {
		return // sessions are left and need the sockets
	}
	for _, e := range entries {
		_ = os.Remove(filepath.Join(dir, e.Name())) // a file that cannot be removed keeps the directory
	}
	if os.Remove(dir) == nil {
		_ = os.Remove(choice) // the choice has no directory any more; if it stays, it is used again
	}
}

// Sockets returns the directories that may hold the city's sockets: chosen is the recorded one,
// empty if none is recorded, and all also has every candidate.
func Sockets(root string, bases ...string) (chosen string, all []string) {
	all = candidates(root, bases)
	written, err := os.ReadFile(filepath.Join(root, StateFolder, ChoiceFile))
	dir := strings.TrimSpace(string(written))
	if err != nil || !filepath.IsAbs(dir) || filepath.Base(dir) != ID(root) {
		return "", all // gc did not write this choice
	}
	if !slices.Contains(all, dir) {
		all = append(all, dir)
	}
	return dir, all
}

// IsOwned reports whether path is a directory that belongs to this user, and no symbolic link.
func IsOwned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(owner.Uid) == os.Getuid()
}

// candidates returns the directories that may be chosen for the sockets, the preferred one first.
func candidates(root string, bases []string) []string {
	var dirs []string
	for _, base := range bases {
		if dir := filepath.Join(base, "gc", ID(root)); filepath.IsAbs(base) && len(dir)+TailLength <= client.MaxSocketPath {
			dirs = append(dirs, dir)
		}
	}
	return append(dirs, filepath.Join(PublicTempDir, "gc-"+strconv.Itoa(os.Getuid()), ID(root)))
}

// choose writes the path of the chosen directory to a file in one step. put is the function that does it: os.Link fails if
// another process has already written its choice, os.Rename replaces that choice.
func choose(file, dir string, put func(from, to string) error) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), ChoiceFile+"-*")
	if err != nil {
		return fmt.Errorf("cannot record the directory of the sockets: %w", err)
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // it is renamed or not needed
	_, err = temporary.WriteString(dir + "\n")
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = put(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("cannot record the directory of the sockets: %w", err)
	}
	return nil
}

// MakePrivate creates the directory, and its parent in a directory where every user could have
// created it. It returns an error if another user can access the directory.
func MakePrivate(dir string) error {
	above := filepath.Dir(dir)
	if client.PublicPlace(above) {
		if err := ownFolder(above); err != nil {
			return err
		}
	} else if err := errors.Join(os.MkdirAll(above, Private), CheckOwner(above)); err != nil {
		return err
	}
	err := ownFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return MakePrivate(dir) // another city has just removed the parent directory
	}
	return err
}

// ownFolder creates a directory and returns an error if another user can access it.
func ownFolder(dir string) error {
	if err := os.Mkdir(dir, Private); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	return CheckPrivate(dir, info)
}

// CheckOwner returns an error if another user could replace files in the directory.
func CheckOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && int(owner.Uid) != os.Getuid():
		return fmt.Errorf("%w: %s belongs to user %d; remove it, or give it to this user with: chown %d %s", client.ErrForbidden, dir, owner.Uid, os.Getuid(), dir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%w: other users may write into the directory %s (mode %04o); run: chmod go-w %s", client.ErrForbidden, dir, info.Mode().Perm(), dir)
	}
	return nil
}

// CheckPrivate returns an error if another user could read or replace the directory.
func CheckPrivate(dir string, info fs.FileInfo) error {
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%w: %s is not a folder", client.ErrForbidden, dir)
	case ok && int(owner.Uid) != os.Getuid():
		return fmt.Errorf("%w: %s belongs to user %d; remove it, or give it to this user with: chown -R %d %s", client.ErrForbidden, dir, owner.Uid, os.Getuid(), dir)
	case info.Mode().Perm()&0o077 != 0:
		if own, ok := info.(ownGroup); ok {
			info = own.FileInfo // show the real mode
		}
		return fmt.Errorf("%w: other users may enter the directory %s (mode %04o); run: chmod 700 %s", client.ErrForbidden, dir, info.Mode().Perm(), dir)
	}
	return nil
}

// checkState returns an error if another user could read or replace the state directory or the
// database in it.
func checkState(root string) error {
	dir := filepath.Join(root, StateFolder)
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cannot read the city's state directory: %w", err)
	}
	if err := CheckPrivate(dir, ownGroup{info}); err != nil {
		return err
	}
	file := filepath.Join(dir, StoreFile)
	info, err = os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot read the city's database: %w", err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%w: %s belongs to user %d; give it to this user with: chown %d %s", client.ErrForbidden, file, owner.Uid, os.Getuid(), file)
	}
	return nil
}

// ownGroup is the information about a directory without the permissions of its group if that is the
// process's own group. A Kubernetes volume with an fsGroup has these permissions.
type ownGroup struct{ fs.FileInfo }

// Mode implements [fs.FileInfo]. It omits the permissions of the group if the file belongs to the group of this
// process.
func (o ownGroup) Mode() fs.FileMode {
	mode := o.FileInfo.Mode()
	if owner, ok := o.Sys().(*syscall.Stat_t); ok && int(owner.Gid) == os.Getegid() {
		mode &^= 0o070
	}
	return mode
}
