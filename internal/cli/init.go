package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/agentcli/hooks"
	"gascity/internal/cli/cmdenv"
)

const (
	folderMode = 0o755
	fileMode   = 0o644
)

// ignored is the .gitignore of a city that is in no git repository yet.
const ignored = "/.gc/\n/.runtime/\n"

func initCommand(a *app) *cobra.Command {
	var providers []string
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create a city.toml in this directory",
		Long: `Writes a commented city.toml. With --provider it has an agent for each named agent CLI, which asks you
before it uses a tool that changes something; without, it has one agent that runs a shell. [guard]
denies dangerous commands, pushes to protected branches and reading secrets, or asks you. The directory
is created if it is missing. An existing city.toml is never changed. Inside a git repository the
directories .gc and .runtime are added to the repository's info/exclude.`,
		Example: "  gc init my-city && cd my-city && gc start\n  gc init my-city --provider " + hooks.Names()[0],
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := a.Dir
			if len(args) > 0 {
				dir = a.Path(args[0])
			}
			return a.init(cmd, dir, providers)
		},
	}
	cmd.Flags().StringSliceVar(&providers, "provider", nil, "the agent CLI of an agent, or several with commas; gc agent-cli list shows them")
	return a.AddJSONFlag(cmd)
}

func (a *app) init(cmd *cobra.Command, dir string, providers []string) error {
	daemon, err := a.daemon()
	if err != nil {
		return err
	}
	text, err := daemon.StarterConfig(cmd.Context(), filepath.Base(dir), providers)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return fmt.Errorf("cannot make the city directory: %w", err)
	}
	path := filepath.Join(dir, client.CityFile)
	if err := writeNew(path, text); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s is a city already; see what it would do with: gc plan", client.ErrRefused, dir)
	} else if err != nil {
		return err
	}
	a.Messagef("wrote %s", path)
	switch file, err := daemon.IgnoreState(dir); {
	case err != nil:
		a.Messagef("warning: git may add the city's state: %v; add .gc/ and .runtime/ to .gitignore", err)
	case file != "":
		a.Messagef("added .gc/ and .runtime/ to %s: git ignores the city's state", file)
	default:
		if err := writeNew(filepath.Join(dir, ".gitignore"), []byte(ignored)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if a.JSON {
		return a.PrintJSON(map[string]string{"city": dir, "file": path})
	}
	if dir == a.Dir {
		a.Messagef("next: look at it, then start the city with: gc start")
	} else {
		a.Messagef("next: look at it, then start the city with: gc start --city %s", dir)
	}
	return nil
}

// writeNew writes a file that does not exist yet; one that does is fs.ErrExist.
func writeNew(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return fmt.Errorf("cannot write: %w", err)
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}
