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

// usedFile, in ProviderFolder, has a line for each provider that the city's controller has ever
// opened. No other provider can have sessions of the city.
const usedFile = "used"

// UsedProviders returns the selections of the providers that the city's controller has ever opened.
func UsedProviders(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, StateFolder, ProviderFolder, usedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the list of used providers: %w", err)
	}
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" }), nil
}

// RecordUsed adds a selection to those that UsedProviders returns. Only the city's controller calls
// it.
func RecordUsed(root, selection string) (err error) {
	used, err := UsedProviders(root)
	if err != nil || slices.Contains(used, selection) || strings.Contains(selection, "\n") {
		return err
	}
	dir := filepath.Join(root, StateFolder, ProviderFolder)
	if err := os.MkdirAll(dir, Private); err != nil {
		return fmt.Errorf("cannot write the list of used providers: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, usedFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, PrivateFile)
	if err != nil {
		return fmt.Errorf("cannot write the list of used providers: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.WriteString(selection + "\n"); err != nil {
		return err
	}
	return file.Sync()
}

// HasRunBefore reports whether a controller of this city has run before, by its log file. If it has
// and the database is missing, the database was lost.
func HasRunBefore(root string) bool {
	info, err := os.Stat(filepath.Join(root, StateFolder, LogFolder, LogFile))
	return err == nil && info.Size() > 0
}
