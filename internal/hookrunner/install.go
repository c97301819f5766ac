package hookrunner

import (
	"fmt"
	"os"
	"path/filepath"

	"gascity/internal/agentcli/hooks"
)

// The variables of an agent with hooks.
const (
	VariableHooks  = hooks.Variable    // whose hooks it has
	VariableFolder = "GC_HOOK_DIR"     // where the hooks' own files are
	variableFirst  = "GC_FIRST_PROMPT" // "1": its command line has a prompt
	// VariableChannel names the agent CLI with whose native channel the agent is started; [agentcli.ChannelTyped]: its prompts are typed.
	VariableChannel = "GC_CHANNEL"
	variableServed  = "GC_CHANNEL_SERVED" // set for hooks of an agent with such a channel
)

// Installed is how one session uses its hooks.
type Installed struct {
	Path string            // of the file with the hooks
	Args []string          // to be appended to the agent's command
	Env  map[string]string // to be added to its environment
}

// Install writes the hooks of an agent CLI for one session into a folder of its own;
// no file of the user's is read or changed. program is the path of gc. What is there
// is replaced. texts is the folder with texts of prompts for the session; empty: it has none.
func Install(cli hooks.CLI, program, dir, texts string) (Installed, error) {
	return install(cli, program, dir, dir, texts)
}

// install is Install with a directory of its own for the file that names the hooks; the other
// files are in dir.
func install(cli hooks.CLI, program, dir, fileDir, texts string) (Installed, error) {
	path := filepath.Join(fileDir, filepath.FromSlash(cli.File))
	text, err := cli.Settings(program, dir, texts)
	if err != nil {
		return Installed{}, err
	}
	for _, folder := range []string{dir, filepath.Dir(path)} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return Installed{}, fmt.Errorf("the hooks have no folder: %w", err)
		}
	}
	files := map[string][]byte{path: text}
	if cli.Script == "" {
		files[filepath.Join(dir, hooks.GuardFile)] = hooks.GuardScript()
	}
	for name, text := range cli.Beside {
		files[filepath.Join(dir, name)] = []byte(text)
	}
	for path, text := range files {
		if err := replace(path, text); err != nil {
			return Installed{}, err
		}
	}
	args, env, err := cli.Launch(program, dir, path)
	if err != nil {
		return Installed{}, err
	}
	env[VariableFolder] = dir
	return Installed{Path: path, Args: args, Env: env}, nil
}

// replace writes a file in one step.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("the hooks cannot be written: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after success it is not there any more
	if _, err = f.Write(text); err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("the hooks cannot be written: %w", err)
	}
	return nil
}

// Uninstall removes the files of hooks from their folder.
func Uninstall(cli hooks.CLI, dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(cli.File))
	err := os.Remove(path)
	others := []string{filepath.Join(dir, readFile), filepath.Join(dir, begunFile), filepath.Join(dir, hooks.GuardFile), filepath.Dir(path)}
	for name := range cli.Beside {
		others = append(others, filepath.Join(dir, name))
	}
	for _, other := range others {
		if other != dir {
			_ = os.Remove(other) // there may be none, or somebody else's files in it
		}
	}
	return err
}
