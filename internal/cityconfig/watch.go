package cityconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"gascity/client"
)

// quietTime is how long no further edit must follow before the configuration is read, unless
// city.toml sets another time.
const quietTime = 200 * time.Millisecond

// maxQuietTimes limits that wait: after this many times quietTime, the configuration is read
// although edits continue.
const maxQuietTimes = 10

// clockTick is the longest time between two updates of the clock from which a file system takes the times of files. Such a time may
// be that much too early.
const clockTick = 10 * time.Millisecond

// maxFolders is how many directories of overlays are watched at most.
const maxFolders = 1000

// Watcher loads the configuration of a city again after each edit of its files. All fields are
// required.
type Watcher struct {
	Root   string
	Began  time.Time     // before the configuration was read that Loaded returns first
	Loaded func() Loaded // the last valid configuration
	Reload func(ctx context.Context) (client.Done, error)
	Logger *slog.Logger
}

// Run calls Reload after edits of city.toml and of the files that it names, once no further edit
// has followed for a while. That includes edits after Began and before Run. It returns when ctx ends. If the system cannot watch files, Run logs
// that and returns at once; the user must then run gc apply after an edit.
func (c Watcher) Run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		c.Logger.Warn("cannot watch the configuration; after an edit run: gc apply", "error", err)
		return nil
	}
	defer watcher.Close()
	w := &watch{Watcher: c, watcher: watcher}
	rest := time.NewTimer(time.Hour)
	rest.Stop()
	var since time.Time // time of the first edit that is not read yet
	edited := func() {
		if since.IsZero() {
			since = time.Now()
		}
		rest.Reset(min(w.quiet, max(0, maxQuietTimes*w.quiet-time.Since(since))))
	}
	follow := func(began time.Time) { // began: before the last load
		w.follow()
		if w.changedAfter(began) {
			edited()
		}
	}
	follow(c.Began)
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
			c.Logger.Warn("some edits may have been missed; gc reads the configuration now", "error", err)
			edited()
		case <-rest.C:
			since = time.Time{}
			began := time.Now()
			if _, err := c.Reload(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, client.ErrInvalid) {
				c.Logger.Warn("cannot reload the configuration", "error", err)
			}
			follow(began)
		case <-ctx.Done():
			return nil
		}
	}
}

// watch is the set of files that a Watcher watches. It watches their directories, because many
// editors replace a file instead of writing into it.
type watch struct {
	Watcher

	watcher *fsnotify.Watcher
	quiet   time.Duration
	files   map[string]bool
	trees   []string
}

// follow watches the files that the last valid configuration names, and no longer those that only
// an older one named.
func (w *watch) follow() {
	last := w.Loaded()
	w.quiet = cmp.Or(last.City.Daemon.TickDebounce, quietTime)
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
			w.Logger.Warn("cannot watch all of an overlay; after an edit run: gc apply", "folder", tree, "error", err)
		}
	}
	for _, dir := range w.watcher.WatchList() {
		if !wanted[dir] {
			_ = w.watcher.Remove(dir) // it may already be removed
		}
	}
	for dir := range wanted {
		if err := w.watcher.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.Logger.Warn("cannot watch a folder; after an edit run: gc apply", "folder", dir, "error", err)
		}
	}
}

// changedAfter reports whether a watched file was changed after began. There is no event for a change that came before the watch of
// the file.
func (w *watch) changedAfter(began time.Time) bool {
	changed := func(info fs.FileInfo, err error) bool {
		// A time in the future says nothing about when the file was changed.
		return err == nil && info.ModTime().After(began.Add(-clockTick)) && !info.ModTime().After(time.Now())
	}
	for file := range w.files {
		if changed(os.Lstat(file)) || changed(os.Stat(file)) {
			return true
		}
	}
	watched := w.watcher.WatchList()
	return slices.ContainsFunc(w.trees, func(tree string) (found bool) {
		_ = filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error { // what cannot be read, follow has reported
			switch found = err == nil && changed(entry.Info()); {
			case found:
				return fs.SkipAll
			case entry != nil && entry.IsDir() && !slices.Contains(watched, path):
				return fs.SkipDir
			}
			return nil
		})
		return found
	})
}

// addFolders adds a directory and all directories below it, up to [maxFolders] in total.
func addFolders(wanted map[string]bool, tree string) error {
	return filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case len(wanted) > maxFolders:
			return fmt.Errorf("there are more than %d folders", maxFolders)
		case entry.IsDir():
			wanted[path] = true
		}
		return nil
	})
}

// concerns reports whether the configuration depends on the file path.
func (w *watch) concerns(path string) bool {
	return w.files[path] || slices.ContainsFunc(w.trees, func(tree string) bool {
		return path == tree || strings.HasPrefix(path, tree+string(filepath.Separator))
	})
}
