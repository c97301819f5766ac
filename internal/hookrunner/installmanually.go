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
	"gascity/internal/agentcli"
	"gascity/internal/textfmt"
)

// InstallManually writes the hooks of the agent CLI with the given name into a directory, for an
// agent that a user starts without a city. It returns the command line that starts the agent CLI
// with them. If gc has no hooks for that name, the error is client.ErrNotFound.
func InstallManually(name, program, dir string) (launch string, err error) {
	cli, ok := agentcli.LookupHooks(name)
	if !ok {
		return "", fmt.Errorf("%w: gc has no hooks for an agent CLI with the name %q", client.ErrNotFound, name)
	}
	installed, err := Install(cli, program, dir, dir, "")
	if err != nil {
		return "", err
	}
	var words []string
	for _, variable := range slices.Sorted(maps.Keys(installed.Env)) {
		words = append(words, variable+"="+textfmt.ShellWord(installed.Env[variable]))
	}
	words = append(words, cli.Name)
	for _, arg := range installed.Args {
		words = append(words, textfmt.ShellWord(arg))
	}
	return strings.Join(words, " "), nil
}

// UninstallManually removes the files that InstallManually wrote, and the directory if it is then
// empty.
func UninstallManually(name, dir string) error {
	cli, ok := agentcli.LookupHooks(name)
	if !ok {
		return fmt.Errorf("%w: gc has no hooks for an agent CLI with the name %q", client.ErrNotFound, name)
	}
	if err := Uninstall(cli, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Clean(dir)) // it stays if other files are in it
	return nil
}
