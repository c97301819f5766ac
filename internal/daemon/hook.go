package daemon

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
	"gascity/internal/adapter"
	"gascity/internal/agentcli/hooks"
)

// InstallHooks writes an agent CLI's hooks into a folder of its own, and returns how it
// is started with them.
func (d *Daemon) InstallHooks(name, dir string) (launch string, err error) {
	cli, ok := hooks.Lookup(name)
	if !ok {
		return "", fmt.Errorf("%w: the hooks of %q", client.ErrNotFound, name)
	}
	installed, err := adapter.Install(cli, d.opts.Executable, dir)
	if err != nil {
		return "", err
	}
	var words []string
	for _, variable := range slices.Sorted(maps.Keys(installed.Env)) {
		words = append(words, variable+"="+quoted(installed.Env[variable]))
	}
	words = append(words, cli.Name)
	for _, arg := range installed.Args {
		words = append(words, quoted(arg))
	}
	return strings.Join(words, " "), nil
}

// UninstallHooks removes what InstallHooks has written, and the folder if nothing else
// is in it.
func (d *Daemon) UninstallHooks(name, dir string) error {
	cli, ok := hooks.Lookup(name)
	if !ok {
		return fmt.Errorf("%w: the hooks of %q", client.ErrNotFound, name)
	}
	if err := adapter.Uninstall(cli, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Clean(dir)) // it stays if somebody else's files are in it
	return nil
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
