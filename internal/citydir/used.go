package citydir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// usedFile, in ProviderFolder, has a line for each provider that has ever been open
// for the city's controller. Nothing can be at one that is not in it.
const usedFile = "used"

// UsedProviders returns the selections of the providers that the city's controller has ever opened.
func UsedProviders(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, StateFolder, ProviderFolder, usedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read which providers were used: %w", err)
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" }), nil
}

// RecordUsed adds a selection to those that Used returns. Only the city's controller calls it.
func RecordUsed(root, selection string) (err error) {
	used, err := UsedProviders(root)
	if err != nil || slices.Contains(used, selection) || strings.Contains(selection, "\n") {
		return err
	}
	dir := filepath.Join(root, StateFolder, ProviderFolder)
	if err := os.MkdirAll(dir, Private); err != nil {
		return fmt.Errorf("cannot note which providers are used: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, usedFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, PrivateFile)
	if err != nil {
		return fmt.Errorf("cannot note which providers are used: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteString(selection + "\n"); err != nil {
		return err
	}
	return file.Sync()
}

// HasRunBefore reports whether a controller has worked in the city before, by its log: a store
// that is missing then has been lost.
func HasRunBefore(root string) bool {
	info, err := os.Stat(filepath.Join(root, StateFolder, LogFolder, LogFile))
	return err == nil && info.Size() > 0
}
