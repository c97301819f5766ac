package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gascity/internal/fsutil"
)

// ErrNoFolder means that the agent of the session was started without a directory.
var ErrNoFolder = errors.New("the agent was started without a directory for files")

// FileStore is a directory that contains the directories of sessions. Its methods may be called
// concurrently.
type FileStore struct{ Dir string }

const extension = ".txt"

// Folder returns the path of a session's directory.
func (s FileStore) Folder(session string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:8]))
}

// Open creates an empty directory for a session and returns its path. The content of an old one is
// removed.
func (s FileStore) Open(session string) (path string, err error) {
	path = s.Folder(session)
	if err := s.Close(session); err != nil {
		return "", err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("cannot create a directory for the texts of prompts: %w", err)
	}
	return path, nil
}

// Close removes the directory of a session and its content.
func (s FileStore) Close(session string) error {
	if err := os.RemoveAll(s.Folder(session)); err != nil {
		return fmt.Errorf("cannot remove the texts of prompts: %w", err)
	}
	_ = os.Remove(s.Dir) // this fails if other sessions have directories
	return nil
}

// maxIDLength is the length of the longest ID that names a file.
const maxIDLength = 64

// isPlainID reports whether an ID is a safe name of a file: ASCII letters and digits, and "_" and "-" after the first character.
func isPlainID(id string) bool {
	const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return id != "" && len(id) <= maxIDLength && strings.Trim(id, alphanumeric+"_-") == "" && strings.ContainsRune(alphanumeric, rune(id[0]))
}

// path returns the path of a prompt's file. It returns an error if the ID cannot be part of a file
// name.
func (s FileStore) path(session, id string) (string, error) {
	if !isPlainID(id) {
		return "", fmt.Errorf("the ID of the prompt, %q, cannot be a file name", id)
	}
	return filepath.Join(s.Folder(session), id+extension), nil
}

// Write writes the text of a prompt and returns the path of the file. The file appears complete or
// not at all. If the session has no directory, the error matches [ErrNoFolder].
func (s FileStore) Write(session, id, text string) (path string, err error) {
	path, err = s.path(session, id)
	if err != nil {
		return "", err
	}
	err = fsutil.ReplaceFile(path, []byte(text))
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoFolder
	}
	if err != nil {
		return "", fmt.Errorf("cannot write the text of a prompt to a file: %w", err)
	}
	return path, nil
}

// Remove removes the file of a prompt. It returns nil if there is no file.
func (s FileStore) Remove(session, id string) error {
	path, err := s.path(session, id)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the text of a prompt: %w", err)
	}
	return nil
}

// RemoveExcept removes all files except those of the prompts with the given IDs. It also removes
// temporary files of an interrupted Write.
func (s FileStore) RemoveExcept(ids map[string]bool) error {
	files, err := filepath.Glob(filepath.Join(s.Dir, "*", "*")) // * also matches names that begin with a dot
	if err != nil {
		return err
	}
	for _, file := range files {
		if id, ok := strings.CutSuffix(filepath.Base(file), extension); !ok || !ids[id] {
			err = errors.Join(err, os.Remove(file))
		}
	}
	return err
}
