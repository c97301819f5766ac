package hookrunner

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/agentcli/hooks"
)

// InstallManually writes an agent CLI's hooks into a folder of its own, and returns the
// command line that starts it with them. One that is not known is client.ErrNotFound.
func InstallManually(name, program, dir string) (launch string, err error) {
	cli, ok := hooks.Lookup(name)
	if !ok {
		return "", fmt.Errorf("%w: the hooks of %q", client.ErrNotFound, name)
	}
	installed, err := Install(cli, program, dir, "")
	if err != nil {
		return "", err
	}
	var words []string
	for _, variable := range slices.Sorted(maps.Keys(installed.Env)) {
		words = append(words, variable+"="+quote(installed.Env[variable]))
	}
	words = append(words, cli.Name)
	for _, arg := range installed.Args {
		words = append(words, quote(arg))
	}
	return strings.Join(words, " "), nil
}

// UninstallManually removes what InstallManually has written, and the folder if nothing
// else is in it.
func UninstallManually(name, dir string) error {
	cli, ok := hooks.Lookup(name)
	if !ok {
		return fmt.Errorf("%w: the hooks of %q", client.ErrNotFound, name)
	}
	if err := Uninstall(cli, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Clean(dir)) // it stays if somebody else's files are in it
	return nil
}
