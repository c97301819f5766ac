package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/cli/cmdenv"
)

const (
	folderMode = 0o755
	fileMode   = 0o644
)

// ignored is the content of .gitignore for a city that is in no git repository yet.
const ignored = "/.gc/\n/.runtime/\n"

func initCommand(a *app) *cobra.Command {
	var providers []string
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create a city.toml in this directory",
		Long: `Writes a city.toml with comments. With --provider, the file has an agent for each agent CLI that you
name; these agents ask you before they use a tool that changes something. Without it, the file has one
agent that runs a shell. Its [guard] denies dangerous commands, pushes to protected branches and
reading secrets, or asks you. A missing directory is created. Inside a git repository the directories
.gc and .runtime are added to the repository's info/exclude. An existing city.toml is never changed:
the exit status is 4.`,
		Example: "  gc init my-city && cd my-city && gc start\n  gc init my-city --provider " + agentcli.HookNames()[0],
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.init(cmd, a.Path(cmdenv.First(args)), providers)
		},
	}
	cmd.Flags().StringSliceVar(&providers, "provider", nil, "the agent `CLI` of the agent; several separated by commas make several agents; to list them: gc agent-cli list")
	return a.AddJSONFlag(cmd)
}

// init writes the files of a new city into dir, and prints what to do next.
func (a *app) init(cmd *cobra.Command, dir string, providers []string) error {
	if err := a.writeCity(cmd.Context(), dir, providers); err != nil {
		return err
	}
	start := "gc start"
	if dir != a.Dir {
		start += " --city " + dir
	}
	return a.PrintResult(map[string]string{"city": dir, "file": filepath.Join(dir, client.CityFile)}, nil, "next: review city.toml, then start the city with: "+start)
}

// writeCity writes city.toml into dir, and makes git ignore the city's state.
func (a *app) writeCity(ctx context.Context, dir string, providers []string) error {
	text, err := a.daemon.StarterConfig(ctx, filepath.Base(dir), providers)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return fmt.Errorf("cannot make the city directory: %w", err)
	}
	path := filepath.Join(dir, client.CityFile)
	if err := writeNew(path, text); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: the directory %s has a city.toml already; to see what it would start: gc plan", client.ErrRefused, dir)
	} else if err != nil {
		return err
	}
	a.Messagef("wrote %s", path)
	switch file, err := a.daemon.IgnoreState(dir); {
	case err != nil:
		a.Messagef("warning: cannot make git ignore the city's state: %v; add .gc/ and .runtime/ to .gitignore", err)
	case file != "":
		a.Messagef("added .gc/ and .runtime/ to %s: git ignores the city's state", file)
	default: // dir is in no repository: a .gitignore for later
		if err := writeNew(filepath.Join(dir, ".gitignore"), []byte(ignored)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// writeNew creates a file with the given text. If the file exists, the error matches fs.ErrExist.
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
