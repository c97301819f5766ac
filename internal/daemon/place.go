package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/plan"
	"gascity/internal/premises"
	"gascity/provider/all"
	"gascity/runtime"
)

// usedFile, in providerFolder, has a line for each provider that has ever been open
// for the city's controller. Nothing can be at one that is not in it.
const usedFile = "used"

// place opens a provider for the controller. One that is not there at all, and never
// was, is a place without sessions: the agents that name it fail to start and are
// told why, and neither they nor the city's end wait for it.
func (k *keeper) place(ctx context.Context, selection string) (runtime.Provider, error) {
	p, err := k.openUsed(ctx, selection)
	if err == nil || !absent(selection, err) {
		return p, err
	}
	used, readErr := usedSelections(k.root)
	if readErr != nil || slices.Contains(used, selection) {
		return nil, errors.Join(err, readErr)
	}
	k.logger.Warn("a provider is not there", "provider", selection, "error", err)
	return all.NewLate(func(ctx context.Context) (runtime.Provider, error) { return k.openUsed(ctx, selection) }), nil
}

// absent reports whether err says that a provider, or the file that is its argument,
// is not there, and not that it failed.
func absent(selection string, err error) bool {
	if strings.Contains(selection, ":") && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
		return true
	}
	return all.IsMissing(err) || errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrInvalid)
}

// openUsed opens a provider, and notes that before anything can be started there.
func (k *keeper) openUsed(ctx context.Context, selection string) (runtime.Provider, error) {
	d := k.daemon
	if _, err := all.Version(ctx, selection, d.providerConfig(k.root, k.root, slog.New(slog.DiscardHandler))); err != nil {
		return nil, err
	}
	p, err := d.openFor(k.root, selection, workerPath(k.root), k.logger)
	if err != nil {
		return nil, err
	}
	if err := noteUsed(k.root, selection); err != nil {
		return nil, errors.Join(err, all.Close(p))
	}
	return p, nil
}

// Places lists the providers at which sessions of the city may be. A city that is
// older than usedFile may have some at each that needs no argument.
func (d *Daemon) Places(root string) ([]string, error) {
	used, err := usedSelections(root)
	if err != nil || len(used) > 0 {
		return used, err
	}
	for _, driver := range all.Drivers() {
		if driver.Argument == "" && driver.Route == nil {
			used = append(used, driver.Name)
		}
	}
	return used, nil
}

// usedSelections returns what usedFile says.
func usedSelections(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, premises.StateFolder, providerFolder, usedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read which providers were used: %w", err)
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" }), nil
}

// noteUsed adds a selection to usedFile. Only the city's controller writes it.
func noteUsed(root, selection string) (err error) {
	used, err := usedSelections(root)
	if err != nil || slices.Contains(used, selection) || strings.Contains(selection, "\n") {
		return err
	}
	dir := filepath.Join(root, premises.StateFolder, providerFolder)
	if err := os.MkdirAll(dir, premises.Private); err != nil {
		return fmt.Errorf("cannot note which providers are used: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, usedFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, premises.PrivateFile)
	if err != nil {
		return fmt.Errorf("cannot note which providers are used: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteString(selection + "\n"); err != nil {
		return err
	}
	return file.Sync()
}

// closed says which of the places that a configuration names cannot be opened, and
// why. It opens none.
func (k *keeper) closed(ctx context.Context, desired *plan.Desired) map[string]string {
	cfg := k.daemon.providerConfig(k.root, k.root, slog.New(slog.DiscardHandler))
	out, asked := map[string]string{}, map[string]bool{}
	for i := range desired.Sessions {
		selection := desired.Sessions[i].Provider
		if asked[selection] {
			continue
		}
		asked[selection] = true
		if _, err := all.Version(ctx, selection, cfg); err != nil {
			out[selection] = err.Error()
		}
	}
	return out
}
