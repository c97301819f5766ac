package shim

import (
	"errors"
	"io/fs"

	"gascity/internal/proc"
	"gascity/internal/statedir"
)

// Recorded returns the record of a session and a client for it, if it is certain without a request to the shim that the
// session's agent runs: its first process runs as a child of the shim. ok is false if it is not certain; [Fleet.Observe] then
// returns the state.
func (f *Fleet) Recorded(name string) (r Record, c *Client, ok bool) {
	dir := statedir.For(f.opts.Dir, name)
	known, err := f.records.Load(dir, readKnownRecord)
	if err != nil || known == nil || !known.runs() || !statedir.NotExists(dir.ExitRecord()) {
		return Record{}, nil, false
	}
	return known.Record, f.client(name, dir, known.token), true
}

// knownRecord is a record with the token of its instance.
type knownRecord struct {
	Record
	token string
}

// readKnownRecord reads the record in a folder; nil if there is none.
func readKnownRecord(dir statedir.Folder) (*knownRecord, error) {
	token, err := dir.Token()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := readRecord(dir)
	return &knownRecord{r, token}, err
}

// runs reports whether the agent's first process runs and is a child of the shim. The kernel gives the child another parent
// when the shim exits. It returns false if that is unknown.
func (r *knownRecord) runs() bool {
	if r.Root.PID == 0 {
		return false
	}
	root, err := proc.Stat(r.Root.PID)
	if err != nil || root.ID != r.Root || root.Ended() || root.PPID != r.Shim.PID {
		return false
	}
	boot, err := proc.BootID()
	return err == nil && boot == r.Boot
}
