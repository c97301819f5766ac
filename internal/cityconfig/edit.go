package cityconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
)

// AddSection appends a section to city.toml. If the file would not be valid with it, AddSection
// changes nothing and returns the mistakes. The caller must not run two calls for one city at the
// same time.
func (l *Loader) AddSection(ctx context.Context, root, section string) error {
	path, err := filepath.EvalSymlinks(filepath.Join(root, client.CityFile))
	if err != nil {
		return fmt.Errorf("%w: cannot find city.toml: %w", client.ErrUnavailable, err)
	}
	before, err := config.ReadFile(ctx, path, maxNamedFile)
	if err != nil {
		return fmt.Errorf("%w: cannot read city.toml: %w", client.ErrUnavailable, err)
	}
	text := strings.TrimRight(string(before), "\n") + "\n\n" + section
	if err := l.check(root, []byte(text)); err != nil {
		return fmt.Errorf("%w: this section cannot be added to city.toml, and nothing was written: %w; add it by hand:\n%s", client.ErrRefused, err, section)
	}
	return replace(path, before, []byte(text))
}

// check returns the mistakes in text, the proposed content of city.toml.
func (l *Loader) check(root string, text []byte) error {
	city, err := config.Parse(filepath.Join(root, client.CityFile), text, l.catalog())
	if err != nil {
		return err
	}
	city.Root = root
	desired, _, err := plan.Resolve(city, l.inputs())
	if err != nil {
		return err
	}
	_, err = l.rules(city, desired)
	return err
}

// replace writes the content after into the file path, if the file still has the content before. A
// reader finds either the old content or the whole new one. The mode of the file stays.
func replace(path string, before, after []byte) (err error) {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".city-*.toml")
	if err != nil {
		return fmt.Errorf("%w: cannot write city.toml: %w", client.ErrUnavailable, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%w: cannot write city.toml: %w", client.ErrUnavailable, err), os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(after)
	if err = errors.Join(err, file.Chmod(info.Mode().Perm()), file.Sync(), file.Close()); err != nil {
		return err
	}
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return errors.New("another program changes it now; try again")
	}
	return os.Rename(file.Name(), path)
}
