package tmux

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
)

// record describes an instance for later gc processes. It is stored as JSON, except the token, which has its own
// file.
type record struct {
	Version      int               `json:"version"`
	Name         string            `json:"name"`
	WorkDir      string            `json:"work_dir"`
	Labels       map[string]string `json:"labels,omitempty"`
	ProcessNames []string          `json:"process_names,omitempty"`
	StartedAt    time.Time         `json:"started_at"`
	Boot         string            `json:"boot"`
	Root         proc.ID           `json:"root"`            // the process of the pane: the [waiter], which runs the agent's command
	Waits        bool              `json:"waits,omitempty"` // true; an earlier gc reads it
	// LeftProcesses: setup or live commands may have left processes of the instance that are no descendants of Root.
	LeftProcesses bool     `json:"outside,omitempty"`
	Child         proc.ID  `json:"child,omitzero"`    // the process that the waiter runs; zero until it is known
	Agent         proc.ID  `json:"agent"`             // the agent's process; Root until the agent's process is known
	Session       string   `json:"session,omitempty"` // the server's id of the session, such as "$1"
	Window        string   `json:"window,omitempty"`  // the id of the window, such as "@1"
	Pane          string   `json:"pane,omitempty"`    // the id of the pane, such as "%1"
	Server        int      `json:"server,omitempty"`  // the pid of the server
	Launches      int      `json:"launches"`          // how often an agent was started in this pane
	Answered      uint64   `json:"answered"`          // the number of answered questions
	Last          []string `json:"last,omitempty"`    // the last answered questions, see [screen.Life]

	token string
}

const recordVersion = 1

// target returns the tmux target of the pane. It consists of ids, so it is valid even if a person renames the
// session.
func (r *record) target() string { return r.Session + ":" + r.Window + "." + r.Pane }

// hash returns a hash of the token, for data that is not private.
func (r *record) hash() string { return hashOf(r.token) }

// hashOf returns the public hash of an instance token, which may be stored where other programs can read it.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte("gc instance " + token))
	return hex.EncodeToString(sum[:12])
}

// readRecord reads the record of a session from its directory. It returns nil if there is no record or no token:
// the session does not exist or is being removed.
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
	if errors.Is(err, fs.ErrNotExist) { // the session is being removed
		return nil, nil
	}
	return r, err
}

func (r *record) write(dir statedir.Folder) error { return statedir.WriteJSON(dir.Record(), r) }

// editRecord applies edit to the record on disk, with the session's directory locked. It does nothing if the instance of r has
// ended.
func (p *Provider) editRecord(ctx context.Context, r *record, edit func(now *record)) error {
	lock, err := claimFolder(ctx, p.dir(r.Name))
	if err != nil {
		return err
	}
	defer lock.Close()
	now, err := readRecord(p.dir(r.Name))
	if err != nil || now == nil || now.token != r.token {
		return err
	}
	edit(now)
	return now.write(p.dir(r.Name))
}

// deliveryLogFile returns the path of the session's delivery log.
func deliveryLogFile(dir statedir.Folder) string { return filepath.Join(string(dir), "account.json") }

// removePrevious removes the files of a previous instance, except the lock.
func removePrevious(dir statedir.Folder) error {
	err := os.Remove(deliveryLogFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, dir.Clear())
}

// command returns the process that runs the agent's command: the waiter's child, or Root if the child is not known.
func (r *record) command() proc.ID {
	if r.Child.PID != 0 {
		return r.Child
	}
	return r.Root
}

// sameBoot reports whether the machine has not restarted since the record was written, so its process ids are
// valid. It returns true if that cannot be determined.
func (r *record) sameBoot() bool {
	boot, err := proc.BootID()
	return err != nil || boot == r.Boot
}

// errOrphans reports that processes of a lost session still run.
var errOrphans = errors.New("processes of a lost session still run")

// orphans returns the pids of all processes that have the instance's token in their environment, and of the pane's process, which
// has no token while it runs the first lines of the launcher.
func (p *Provider) orphans(r *record) ([]int, error) {
	if !r.sameBoot() {
		return nil, nil
	}
	pids, err := p.scanner.WithToken(r.token)
	if r.Root.PID > 1 && !slices.Contains(pids, r.Root.PID) {
		if alive, aliveErr := proc.Alive(r.Root); alive || aliveErr != nil {
			pids = append(pids, r.Root.PID)
		}
	}
	return pids, err
}
