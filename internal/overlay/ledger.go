package overlay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// The files of this package in a working directory. The .gitignore makes git ignore the folder.
const (
	stateDir   = ".gc"
	ledgerPath = stateDir + "/staged.json"
	lockPath   = stateDir + "/stage.lock"
	ignorePath = stateDir + "/.gitignore"
)

const ledgerVersion = 1

// ledger is the record of earlier stagings of a working directory.
type ledger struct {
	Version int `json:"version"`
	// Files holds the SHA-256 of each file that was written, by its name.
	Files map[string]string `json:"files,omitempty"`
	// Settings holds what was added to each settings file, by its name.
	Settings map[string]settings `json:"settings,omitempty"`

	saved []byte // content of the file on disk
}

// settings records what was added to one settings file.
type settings struct {
	Source string     `json:"source"` // SHA-256 of the settings to add
	Added  []addition `json:"added,omitempty"`
	Gaps   []gap      `json:"gaps,omitempty"`
}

func emptyLedger() *ledger {
	return &ledger{Version: ledgerVersion, Files: map[string]string{}, Settings: map[string]settings{}}
}

// readLedger returns the ledger of a working directory. If there is none, it returns an empty ledger. If it cannot be read, it
// returns an empty ledger and an error.
func readLedger(root *os.Root) (*ledger, error) {
	l := emptyLedger()
	data, err := root.ReadFile(ledgerPath)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(data, l); err != nil || l.Version != ledgerVersion {
		return emptyLedger(), fmt.Errorf("%s cannot be read; files that were staged before count as the user's", ledgerPath)
	}
	l.saved = data
	if l.Files == nil {
		l.Files = map[string]string{}
	}
	if l.Settings == nil {
		l.Settings = map[string]settings{}
	}
	return l, nil
}

// save writes the ledger if it has changed. An empty ledger is removed.
func (l *ledger) save(root *os.Root) error {
	if len(l.Files) == 0 && len(l.Settings) == 0 {
		if l.saved == nil {
			return nil
		}
		return root.Remove(ledgerPath)
	}
	data, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if bytes.Equal(data, l.saved) {
		return nil
	}
	return writeFile(root, ledgerPath, file{content: bytes.NewReader(data), mode: 0o600}, replaceAny)
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// hashOf returns the SHA-256 of a file without loading the whole file into memory.
func hashOf(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}
