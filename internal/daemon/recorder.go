package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"gascity/client"
	"gascity/internal/api"
	"gascity/internal/rawlog"
)

// recorder is the city with what its sessions printed: the drivers keep it in the
// city's log folder, and it stays when they are gone.
type recorder struct {
	api.City
	root string
}

var _ api.Recorder = recorder{}

// Logs keeps the contract of api.Recorder.
func (r recorder) Logs(ctx context.Context, target string, q client.LogQuery, w io.Writer) error {
	session, err := r.Session(ctx, target)
	if err != nil {
		return err
	}
	path := filepath.Join(r.root, stateFolder, logFolder, session.Session+".log")
	err = rawlog.Copy(ctx, w, path, rawlog.Query{Since: q.Since, Follow: q.Follow})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s has printed nothing yet", client.ErrNotFound, target)
	}
	return err
}
