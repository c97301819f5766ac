package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gascity/client"
	"gascity/internal/domain/event"
)

// findMissing checks, before the database file is created, whether it is missing or empty although
// the city had one, and records that in d.damage. The city had one if the caller says so or if a
// journal file exists; that file is renamed.
func (d *DB) findMissing() error {
	info, err := os.Stat(d.path)
	if err == nil && info.Size() > 0 {
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	found := fmt.Errorf("%w: the file %s does not exist, although the city had one", ErrMissing, filepath.Base(d.path))
	if err == nil {
		found = fmt.Errorf("%w: the file %s is empty, although the city has run before", ErrMissing, filepath.Base(d.path))
	}
	_, err = os.Stat(d.path + "-wal")
	journal := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if journal || d.opts.ExpectDatabase {
		d.damage = &Damage{Err: found}
	}
	if journal {
		_, err = setAside(d.path, d.stamp())
		return err
	}
	return nil
}

// stamp returns the current time as part of a file name.
func (d *DB) stamp() string { return d.opts.Now().UTC().Format("20060102T150405.000Z") }

// rebuild renames the damaged database and creates a new one. found is the error that shows the
// damage.
func (d *DB) rebuild(ctx context.Context, steps []string, found error) (*tx, error) {
	aside, err := setAside(d.path, d.stamp())
	if err != nil {
		return nil, errors.Join(found, err)
	}
	d.damage = &Damage{File: aside, Err: found}
	return d.openFile(ctx, steps)
}

// reportDamage logs that the database is new because the old one was damaged or missing, and adds
// an event for it.
func (d *DB) reportDamage() {
	if d.damage == nil {
		return
	}
	text := "the city's database was damaged and has been set aside as " + d.damage.File
	if d.damage.File == "" {
		text = "the city's database was missing: its content is lost, agents keep running"
	}
	d.opts.Logger.Error(text+"; a new one has been begun", "file", d.damage.File, "error", d.damage.Err)
	_, _ = d.Append(d.base, client.Event{ // fails only when closed
		Kind: string(event.StoreRebuilt), Text: text,
		Data: map[string]string{"file": d.damage.File, "error": d.damage.Err.Error()},
	})
}
