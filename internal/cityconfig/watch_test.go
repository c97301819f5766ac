package cityconfig_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/cityconfig"
)

const watchedCity = `
[workspace]
name = "town"
[daemon]
tick_debounce = "20ms"
[guard]
files = ["ours.toml"]
[[agents]]
name = "a"
start_command = "run"
overlay_dir = "overlay"
`

const noRules = "# no rules\n"

// patience is how long a test waits for a load that must come.
const patience = 10 * time.Second

// watched is a city whose files were last changed an hour ago.
type watched struct {
	t       *testing.T
	root    string
	loader  *cityconfig.Loader
	loaded  atomic.Pointer[cityconfig.Loaded]
	began   time.Time
	reloads chan struct{}
	onLoad  func() // called after each load; nil: nothing
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{t: t, root: t.TempDir(), reloads: make(chan struct{}, 100)}
	w.loader = cityconfig.NewLoader([]string{"HOME=" + w.root, "PATH=/usr/bin:/bin"}, "/usr/bin/gc", time.Now)
	w.write(client.CityFile, watchedCity)
	w.write("ours.toml", noRules)
	w.write("overlay/deep/file", "text")
	for _, name := range []string{client.CityFile, "ours.toml", "overlay/deep/file", "overlay/deep", "overlay"} {
		w.touch(name, time.Now().Add(-time.Hour))
	}
	w.began = time.Now()
	w.load()
	return w
}

func (w *watched) write(name, text string) {
	path := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Error(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Error(err)
	}
}

func (w *watched) touch(name string, at time.Time) {
	if err := os.Chtimes(filepath.Join(w.root, name), at, at); err != nil {
		w.t.Error(err)
	}
}

func (w *watched) load() {
	r, err := w.loader.Load(w.t.Context(), w.root)
	if err != nil {
		w.t.Error(err)
		return
	}
	w.loaded.Store(&r)
}

// watch runs the watcher until the test ends.
func (w *watched) watch() {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	watcher := cityconfig.Watcher{
		Root: w.root, Began: w.began, Loaded: func() cityconfig.Loaded { return *w.loaded.Load() }, Logger: slog.New(slog.DiscardHandler),
		Reload: func(context.Context) (client.Done, error) {
			w.load()
			if w.onLoad != nil {
				w.onLoad()
			}
			w.reloads <- struct{}{}
			return client.Done{}, nil
		},
	}
	go func() { done <- watcher.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
}

// await waits for a load.
func (w *watched) await(why string) {
	w.t.Helper()
	select {
	case <-w.reloads:
	case <-time.After(patience):
		w.t.Fatalf("the configuration was not read again after %s", why)
	}
}

// TestEditBeforeTheWatch: what was edited after the configuration was read and before its files were watched is read.
func TestEditBeforeTheWatch(t *testing.T) {
	for _, name := range []string{client.CityFile, "ours.toml", "overlay/deep/file", "overlay/new/file"} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t)
			text := map[string]string{client.CityFile: watchedCity + "suspended = true\n"}[name]
			w.write(name, text)
			w.watch()
			w.await("an edit of " + name)
		})
	}
}

// TestEditOfANewFileDuringALoad: a file that a city.toml names for the first time is watched only after the load, and may have been
// edited by then.
func TestEditOfANewFileDuringALoad(t *testing.T) {
	w := newWatched(t)
	w.write("more/rules.toml", noRules)
	loads := 0
	w.onLoad = func() {
		if loads++; loads == 1 {
			w.write("more/rules.toml", noRules+noRules)
		}
	}
	w.write(client.CityFile, strings.Replace(watchedCity, `["ours.toml"]`, `["ours.toml", "more/rules.toml"]`, 1))
	w.watch()
	w.await("an edit of city.toml")
	w.await("an edit of a file that it names for the first time")
}

// TestOldFilesAreNotReadAgain: without an edit there is no load, also if the clock was once wrong.
func TestOldFilesAreNotReadAgain(t *testing.T) {
	w := newWatched(t)
	w.touch("ours.toml", time.Now().Add(24*time.Hour))
	w.watch()
	select {
	case <-w.reloads:
		t.Error("the configuration was read again without an edit")
	case <-time.After(300 * time.Millisecond):
	}
}
