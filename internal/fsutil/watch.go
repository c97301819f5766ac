package fsutil

import (
	"context"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// WatchFile returns a channel that receives a value after the file at path was written, created or replaced; several
// changes may become one value. The folder of the file must exist. The channel is closed after ctx ends.
func WatchFile(ctx context.Context, path string) (<-chan struct{}, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := w.Add(filepath.Dir(path)); err != nil {
		_ = w.Close() // the first error counts
		return nil, err
	}
	changed := make(chan struct{}, 1)
	go func() { // ends with ctx
		defer close(changed)
		defer w.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case e, open := <-w.Events:
				if !open {
					return
				}
				if e.Name != path {
					continue
				}
			case _, open := <-w.Errors: // events were lost: the reader checks the file
				if !open {
					return
				}
			}
			select {
			case changed <- struct{}{}:
			default: // one is waiting already
			}
		}
	}()
	return changed, nil
}
