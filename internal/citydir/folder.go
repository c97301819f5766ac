// Package citydir knows the folders and files of a city: where they are, who may enter
// them, and which process is its controller.
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

// Folders and files of a city.
const (
	StateFolder   = ".gc"
	RuntimeFolder = ".runtime"
	ChoiceFile    = "runtime-dir" // in StateFolder: which folder holds the sockets of shims
	LockFile      = "controller.lock"
	LogFolder     = "log"
	HooksFolder   = "hooks" // in StateFolder: what the agents' hooks need
	// ProviderFolder, in StateFolder, is where drivers keep what has to last.
	ProviderFolder = "provider"
	StoreFile      = "city.db"
	LogFile        = "controller.log"

	Private     = 0o700 // the mode of a folder that no other user may enter
	PrivateFile = 0o600

	// TailLength is what a driver adds to the folder: its name, a session's
	// folder and the socket.
	TailLength = len("/subprocess/0123456789abcdef/sock")
	idBytes    = 6
)

// PublicTempDir is where folders of all users are; it is short on every platform.
const PublicTempDir = "/tmp"

// ID names a city in short paths.
func ID(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:idBytes])
}

// RuntimeDir returns the folder for the sockets of the city's shims, which is private and short.
// The first choice depends on bases, folders of the user in which it may be, the best first, and is
// written down; a later process, in any environment, reads it there, so that it finds the same
// shims.
func RuntimeDir(root string, bases ...string) (string, error) {
	choice := filepath.Join(root, StateFolder, ChoiceFile)
	if err := os.MkdirAll(filepath.Dir(choice), Private); err != nil {
		return "", fmt.Errorf("cannot make the city directory: %w", err)
	}
	written, err := os.ReadFile(choice)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("cannot read where the sessions are: %w", err)
	}
	if dir := strings.TrimSpace(string(written)); filepath.IsAbs(dir) {
		if err := MakePrivate(dir); err == nil {
			return dir, nil
		} else if _, there := os.Lstat(dir); there == nil {
			return "", err // it is there, and not ours alone
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
			return RuntimeDir(root, bases...) // another process has just chosen
		} else if err != nil {
			return "", err
		}
		return dir, nil
	}
	return "", fmt.Errorf("there is no private folder for the sockets of sessions; set XDG_STATE_HOME or XDG_RUNTIME_DIR to one: %w", errors.Join(errs...))
}

// RemoveEmptyRuntimeDir removes the folder for sockets if no session is left in it. Only the city's
// controller calls it, or the last visitor (see [LockShared]): no other process starts sessions.
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
			err = errors.Join(err, syscall.Rmdir(filepath.Join(dir, e.Name()))) // a driver's, only if it is empty
		}
	}
	if err != nil {
		return // sessions need the sockets beside their folders
	}
	for _, e := range entries {
		_ = os.Remove(filepath.Join(dir, e.Name())) // what stays keeps the folder
	}
	if os.Remove(dir) == nil {
		_ = os.Remove(choice) // it names nothing any more; left behind, it is used again
	}
}

// Sockets returns the folders for sockets that the city may have: the one that was chosen, and
// those that would be. chosen is empty if none is written down.
func Sockets(root string, bases ...string) (chosen string, all []string) {
	all = candidates(root, bases)
	written, err := os.ReadFile(filepath.Join(root, StateFolder, ChoiceFile))
	dir := strings.TrimSpace(string(written))
	if err != nil || !filepath.IsAbs(dir) || filepath.Base(dir) != ID(root) {
		return "", all // what is written there is no choice of ours
	}
	if !slices.Contains(all, dir) {
		all = append(all, dir)
	}
	return dir, all
}

// IsOwned reports whether there is a folder at path that belongs to this user and is no link.
func IsOwned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(owner.Uid) == os.Getuid()
}

// candidates returns where the sockets may be, the best first.
func candidates(root string, bases []string) []string {
	var dirs []string
	for _, base := range bases {
		if dir := filepath.Join(base, "gc", ID(root)); filepath.IsAbs(base) && len(dir)+TailLength <= client.MaxSocketPath {
			dirs = append(dirs, dir)
		}
	}
	return append(dirs, filepath.Join(PublicTempDir, "gc-"+strconv.Itoa(os.Getuid()), ID(root)))
}

// choose writes a choice down in one step: by a link, which never replaces what
// another process has just written, or by a rename.
func choose(file, dir string, put func(from, to string) error) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), ChoiceFile+"-*")
	if err != nil {
		return fmt.Errorf("cannot note where the sessions are: %w", err)
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // it is renamed, or worthless
	_, err = temporary.WriteString(dir + "\n")
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = put(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("cannot note where the sessions are: %w", err)
	}
	return nil
}

// MakePrivate makes the folder, and the one above where everybody could have
// made it, and refuses what is not this user's alone.
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
		return MakePrivate(dir) // the last other city has just taken away the folder above
	}
	return err
}

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

// CheckOwner refuses a folder in which another user could replace what is in it.
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
		return fmt.Errorf("%w: others may write into %s (mode %04o); cure it with: chmod go-w %s", client.ErrForbidden, dir, info.Mode().Perm(), dir)
	}
	return nil
}

// CheckPrivate refuses a folder that another user could read or replace.
func CheckPrivate(dir string, info fs.FileInfo) error {
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%w: %s is not a folder", client.ErrForbidden, dir)
	case ok && int(owner.Uid) != os.Getuid():
		return fmt.Errorf("%w: %s belongs to user %d; remove it, or give it to this user with: chown -R %d %s", client.ErrForbidden, dir, owner.Uid, os.Getuid(), dir)
	case info.Mode().Perm()&0o077 != 0:
		if own, ok := info.(ownGroup); ok {
			info = own.FileInfo // the mode that a person sees
		}
		return fmt.Errorf("%w: others may enter %s (mode %04o); cure it with: chmod 700 %s", client.ErrForbidden, dir, info.Mode().Perm(), dir)
	}
	return nil
}

// checkState refuses a state folder, or a database in it, that another user could read or
// replace.
func checkState(root string) error {
	dir := filepath.Join(root, StateFolder)
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cannot look at the city directory: %w", err)
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
		return fmt.Errorf("cannot look at the city's database: %w", err)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%w: %s belongs to user %d; give it to this user with: chown %d %s", client.ErrForbidden, file, owner.Uid, os.Getuid(), file)
	}
	return nil
}

// ownGroup is a folder without the permissions of its group if that is the process's own: a
// Kubernetes volume with an fsGroup has them.
type ownGroup struct{ fs.FileInfo }

func (o ownGroup) Mode() fs.FileMode {
	mode := o.FileInfo.Mode()
	if owner, ok := o.Sys().(*syscall.Stat_t); ok && int(owner.Gid) == os.Getegid() {
		mode &^= 0o070
	}
	return mode
}
