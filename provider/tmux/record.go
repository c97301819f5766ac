package tmux

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
)

// markKey is the variable that marks every process of an instance. Its value is the
// instance token.
const markKey = "GC_INSTANCE_TOKEN"

// record is what later processes need to know of an instance. The token is in a file of
// its own.
type record struct {
	Version      int               `json:"version"`
	Name         string            `json:"name"`
	WorkDir      string            `json:"work_dir"`
	Labels       map[string]string `json:"labels,omitempty"`
	ProcessNames []string          `json:"process_names,omitempty"`
	StartedAt    time.Time         `json:"started_at"`
	Boot         string            `json:"boot"`
	Root         proc.ID           `json:"root"`              // the process that was started: the pane's
	Waits        bool              `json:"waits,omitempty"`   // Root is the [waiter], which runs the agent's command
	Child        proc.ID           `json:"child,omitzero"`    // what the waiter runs; zero until it is known
	Agent        proc.ID           `json:"agent"`             // the agent, as far as it is known: Root at first
	Session      string            `json:"session,omitempty"` // as the server calls it: "$1", "@1" and "%1"
	Window       string            `json:"window,omitempty"`
	Pane         string            `json:"pane,omitempty"`
	Server       int               `json:"server,omitempty"` // the pid of the server
	Launches     int               `json:"launches"`         // how often an agent was started in this box
	Answered     uint64            `json:"answered"`         // how many questions were
	Last         []string          `json:"last,omitempty"`   // the last of them, see [screen.Life]

	token string
}

const recordVersion = 1

// target names the pane in its session, whatever a person calls that.
func (r *record) target() string { return r.Session + ":" + r.Window + "." + r.Pane }

// hash stands for the token where everybody may read it.
func (r *record) hash() string { return hashOf(r.token) }

func hashOf(token string) string {
	sum := sha256.Sum256([]byte("gc instance " + token))
	return hex.EncodeToString(sum[:12])
}

// readRecord returns what is on the disk; nil if the session does not exist, or was begun
// and never came to be.
func readRecord(dir statedir.Folder) (*record, error) {
	r := &record{}
	err := statedir.ReadJSON(dir.Record(), r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if r.Version > recordVersion {
		return nil, fmt.Errorf("%s was written by a newer gc (format %d); upgrade this one", dir.Record(), r.Version)
	}
	r.token, err = dir.Token()
	if errors.Is(err, fs.ErrNotExist) { // it is being removed
		return nil, nil
	}
	return r, err
}

func (r *record) write(dir statedir.Folder) error { return statedir.WriteJSON(dir.Record(), r) }

// accountFile returns the file of the account of deliveries.
func accountFile(dir statedir.Folder) string { return filepath.Join(string(dir), "account.json") }

// removePrevious removes what a previous instance left, all but the lock.
func removePrevious(dir statedir.Folder) error {
	err := os.Remove(accountFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, dir.Clear())
}

// command returns the process that runs the agent's command, as far as it is known.
func (r *record) command() proc.ID {
	if r.Child.PID != 0 {
		return r.Child
	}
	return r.Root
}

// sameBoot reports whether identities of processes in the record still mean something.
func (r *record) sameBoot() bool {
	boot, err := proc.BootID()
	return err != nil || boot == r.Boot
}

// errOrphans reports processes of a session whose server is gone.
var errOrphans = errors.New("processes of a lost session still run")

// orphans returns the processes that carry the instance's token.
func (r *record) orphans() ([]int, error) {
	if !r.sameBoot() {
		return nil, nil
	}
	found, err := proc.FindByEnv(markKey, r.token)
	var pids []int
	for _, m := range found {
		pids = append(pids, m.PID)
	}
	return pids, err
}
