package cityconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"gascity/client"
)

// quietTime is how long an edit must have rested before it is read, if the
// configuration does not say.
const quietTime = 200 * time.Millisecond

// mostRests bounds the wait for that rest, in rests: who saves again and again
// still gets what is there now and then.
const mostRests = 10

// mostFolders bounds how many folders of overlays are watched.
const mostFolders = 1000

// Watcher reloads the configuration of a city after each edit. All fields are required.
type Watcher struct {
	Root   string
	Loaded func() Loaded // the last valid configuration
	Reload func(ctx context.Context) (client.Done, error)
	Logger *slog.Logger
}

// Run reloads the configuration after each edit of city.toml and of the files
// it names, once the edit has rested. It ends with ctx. A system that cannot
// watch files is logged once; gc reload still works.
func (c Watcher) Run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		c.Logger.Warn("edits are not noticed by themselves", "error", err)
		return nil
	}
	defer watcher.Close()
	w := &watch{Watcher: c, watcher: watcher}
	w.follow()
	rest := time.NewTimer(time.Hour)
	rest.Stop()
	var since time.Time // of the first edit that has not been read
	edited := func() {
		if since.IsZero() {
			since = time.Now()
		}
		rest.Reset(min(w.quiet, max(0, mostRests*w.quiet-time.Since(since))))
	}
	for {
		select {
		case ev, open := <-watcher.Events:
			if !open {
				return nil
			}
			if w.concerns(ev.Name) {
				edited()
			}
		case err, open := <-watcher.Errors:
			if !open {
				return nil
			}
			c.Logger.Warn("edits may have been missed; they are read now", "error", err)
			edited()
		case <-rest.C:
			since = time.Time{}
			if _, err := c.Reload(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, client.ErrInvalid) {
				c.Logger.Warn("cannot reload the configuration", "error", err)
			}
			w.follow()
		case <-ctx.Done():
			return nil
		}
	}
}

// watch is the set of watched files. Folders are watched and not files, for
// editors replace files.
type watch struct {
	Watcher

	watcher *fsnotify.Watcher
	quiet   time.Duration
	files   map[string]bool
	trees   []string
}

// follow watches what the last good configuration names.
func (w *watch) follow() {
	last := w.Loaded()
	w.quiet = last.City.Daemon.TickDebounce
	if w.quiet <= 0 {
		w.quiet = quietTime
	}
	w.files, w.trees = map[string]bool{filepath.Join(w.Root, client.CityFile): true}, nil
	for _, path := range last.Files() {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			w.trees = append(w.trees, path)
		} else {
			w.files[path] = true
		}
	}
	wanted := map[string]bool{}
	for file := range w.files {
		wanted[filepath.Dir(file)] = true
	}
	for _, tree := range w.trees {
		wanted[filepath.Dir(tree)] = true
		if err := addFolders(wanted, tree); err != nil {
			w.Logger.Warn("edits of an overlay may be missed", "folder", tree, "error", err)
		}
	}
	for _, dir := range w.watcher.WatchList() {
		if !wanted[dir] {
			_ = w.watcher.Remove(dir) // it may be gone already
		}
	}
	for dir := range wanted {
		if err := w.watcher.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.Logger.Warn("edits are not noticed", "folder", dir, "error", err)
		}
	}
}

func addFolders(wanted map[string]bool, tree string) error {
	return filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case len(wanted) > mostFolders:
			return fmt.Errorf("there are more than %d folders", mostFolders)
		case entry.IsDir():
			wanted[path] = true
		}
		return nil
	})
}

// concerns reports whether a change there is a change of the configuration.
func (w *watch) concerns(path string) bool {
	if w.files[path] {
		return true
	}
	for _, tree := range w.trees {
		if path == tree || strings.HasPrefix(path, tree+string(filepath.Separator)) {
			return true
		}
	}
	return false
}
