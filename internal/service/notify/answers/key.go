package answers

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"time"

	"gascity/internal/fsutil"
)

const (
	keySize    = 32      // bytes
	maxFile    = 1 << 20 // bytes of the file that are read
	otherUsers = 0o077   // the permissions that other users must not have
)

// secrets is the content of the file.
type secrets struct {
	Key []byte `json:"key"`
	// Used has the used tokens, by their digest, each with the time when it expires.
	Used map[string]time.Time `json:"used,omitempty"`
}

// keyLocked returns the key of the city. It makes the key if there is none. If the file cannot be understood, or if other users
// can read it, it makes another key, so that no button that was sent before is valid.
func (s *Service) keyLocked() ([]byte, error) {
	if s.secrets != nil {
		return s.secrets.Key, nil
	}
	found, err := readSecrets(s.opts.File)
	if err != nil && !errors.Is(err, errUnusable) {
		return nil, err
	}
	if found != nil {
		s.secrets = found
		return found.Key, nil
	}
	if err != nil {
		s.opts.Logger.Error("a new key for answer buttons is made, and all buttons that were sent before are refused", "error", err)
	}
	made := &secrets{Key: make([]byte, keySize)}
	if _, err := rand.Read(made.Key); err != nil {
		return nil, err
	}
	if err := s.save(made); err != nil {
		return nil, err
	}
	s.secrets = made
	return made.Key, nil
}

// errUnusable means that the file cannot be used, and that another one can replace it.
var errUnusable = errors.New("the key for answer buttons cannot be used")

// readSecrets reads the file; nil without an error: there is none.
func readSecrets(path string) (*secrets, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // documented
	case err != nil:
		return nil, fmt.Errorf("cannot read the key for answer buttons: %w", err)
	case info.Mode().Perm()&otherUsers != 0:
		return nil, fmt.Errorf("%w: other users can read %s (mode %04o)", errUnusable, path, info.Mode().Perm())
	}
	text, err := fsutil.ReadRegular(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the key for answer buttons: %w", err)
	}
	var found secrets
	if err := json.Unmarshal(text, &found); err != nil || len(found.Key) != keySize {
		return nil, fmt.Errorf("%w: %s is damaged", errUnusable, path)
	}
	return &found, nil
}

// save writes the file.
func (s *Service) save(next *secrets) error {
	text, err := json.MarshalIndent(next, "", "  ")
	if err == nil {
		err = fsutil.ReplaceFile(s.opts.File, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cannot save the key for answer buttons: %w", err)
	}
	return nil
}

// digest returns what is saved of a used token.
func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:macSize])
}

// isUsed reports whether a genuine token was used before.
func (s *Service) isUsed(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, used := s.secrets.Used[digest(token)]
	return used
}

// use saves that a genuine token is used. used is true if it was used before.
func (s *Service) use(token string, expires int64) (used bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, used = s.secrets.Used[digest(token)]; used {
		return true, nil
	}
	next := &secrets{Key: s.secrets.Key, Used: map[string]time.Time{digest(token): time.Unix(expires, 0).UTC()}}
	for other, until := range s.secrets.Used {
		if until.After(s.opts.Now()) {
			next.Used[other] = until
		}
	}
	if err := s.save(next); err != nil {
		return false, err
	}
	s.secrets = next
	return false, nil
}

// release saves that a token was not used after all. If that cannot be saved, the token stays used.
func (s *Service) release(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &secrets{Key: s.secrets.Key, Used: maps.Clone(s.secrets.Used)}
	delete(next.Used, digest(token))
	if err := s.save(next); err != nil {
		s.opts.Logger.Error("a button that answered nothing cannot be used again", "question", QuestionOf(token), "error", err)
		return
	}
	s.secrets = next
}
