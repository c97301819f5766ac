// Package promptfile keeps the texts of prompts in files that agents read: of prompts that
// the input box of the agent CLI would change. Each session has a folder of its own, mode
// 0700, outside of every repository; each file has mode 0600.
//
// The folder of a session is made when its agent is started, because the agent CLI gets
// permission then to read there. Without the folder nothing is written.
package promptfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// ErrNoFolder is the error of a session whose agent was started without a folder.
var ErrNoFolder = errors.New("the agent was started before it could be given files")

// Store is a folder with the folders of sessions. Its methods may be called concurrently.
type Store struct{ Dir string }

const extension = ".txt"

// Folder returns the path of a session's folder.
func (s Store) Folder(session string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:8]))
}

// Open makes the folder of a session and returns its path. What is in it is removed.
func (s Store) Open(session string) (path string, err error) {
	path = s.Folder(session)
	if err := s.Close(session); err != nil {
		return "", err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("cannot make a folder for the texts of prompts: %w", err)
	}
	return path, nil
}

// Close removes the folder of a session with what is in it.
func (s Store) Close(session string) error {
	if err := os.RemoveAll(s.Folder(session)); err != nil {
		return fmt.Errorf("cannot remove the texts of prompts: %w", err)
	}
	_ = os.Remove(s.Dir) // it stays if it is not empty
	return nil
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// path returns the path of a prompt's file.
func (s Store) path(session, id string) (string, error) {
	if !plainID.MatchString(id) {
		return "", fmt.Errorf("the prompt %q cannot name a file", id)
	}
	return filepath.Join(s.Folder(session), id+extension), nil
}

// Write writes the text of a prompt and returns the path of the file, which appears as a
// whole. A session without a folder is an error that matches [ErrNoFolder].
func (s Store) Write(session, id, text string) (path string, err error) {
	path, err = s.path(session, id)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // mode 0600
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoFolder
	}
	if err != nil {
		return "", fmt.Errorf("cannot write the text of a prompt: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after success it is not there any more
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("cannot write the text of a prompt: %w", err)
	}
	return path, nil
}

// Remove removes the file of a prompt. None is no error.
func (s Store) Remove(session, id string) error {
	path, err := s.path(session, id)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the text of a prompt: %w", err)
	}
	return nil
}

// RemoveExcept removes all files but those of the given prompts, by their IDs.
func (s Store) RemoveExcept(ids map[string]bool) error {
	files, err := filepath.Glob(filepath.Join(s.Dir, "*", "*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if id, ok := strings.CutSuffix(filepath.Base(file), extension); !ok || !ids[id] {
			err = errors.Join(err, os.Remove(file))
		}
	}
	files, _ = filepath.Glob(filepath.Join(s.Dir, "*", ".tmp-*")) // the pattern is right
	for _, file := range files {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}
