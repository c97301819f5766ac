package hookrunner

import (
	"fmt"
	"os"
	"path/filepath"

	"gascity/internal/agentcli"
	"gascity/internal/fsutil"
)

// The environment variables of an agent with hooks.
const (
	VariableHooks  = agentcli.HooksVariable // the agent CLI whose hooks it has
	VariableFolder = "GC_HOOK_DIR"          // the directory of the hooks' own files
	variableFirst  = "GC_FIRST_PROMPT"      // "1": its command line contains a prompt
	// VariableChannel is the agent CLI whose native channel the agent uses. [agentcli.ChannelTyped]
	// means that its prompts are typed.
	VariableChannel = "GC_CHANNEL"
)

// Installed describes the installed hooks of one session.
type Installed struct {
	Path string            // path of the file with the hooks
	Args []string          // arguments to append to the agent's command
	Env  map[string]string // variables to add to the agent's environment
}

// Install writes the hooks of an agent CLI for one session: the file that lists the hooks into the
// directory fileDir, and the other files into dir. It replaces the ones of an earlier start. It does
// not read or change any file of the user. program is the path of gc. texts is the directory in
// which the session finds the texts of its prompts; empty if the agent CLI does not read prompts
// from files.
func Install(cli agentcli.Hooks, program, dir, fileDir, texts string) (Installed, error) {
	path := filepath.Join(fileDir, filepath.FromSlash(cli.File))
	text, err := cli.Settings(program, dir, texts)
	if err != nil {
		return Installed{}, err
	}
	for _, folder := range []string{dir, filepath.Dir(path)} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return Installed{}, fmt.Errorf("cannot create the folder for hooks: %w", err)
		}
	}
	files := map[string][]byte{path: text}
	if cli.Script == "" {
		files[filepath.Join(dir, agentcli.HookGuardFile)] = agentcli.HookGuardScript()
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

// replace writes a file so that a reader finds either the old text or the whole new one.
func replace(path string, text []byte) error {
	if err := fsutil.ReplaceFile(path, text); err != nil {
		return fmt.Errorf("cannot write the hooks: %w", err)
	}
	return nil
}

// Uninstall removes the files that Install wrote into dir, and what the hooks saved there.
func Uninstall(cli agentcli.Hooks, dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(cli.File))
	err := os.Remove(path)
	others := []string{filepath.Join(dir, readFile), filepath.Join(dir, begunFile), filepath.Join(dir, requestFile), filepath.Join(dir, agentcli.HookGuardFile), filepath.Dir(path)}
	for name := range cli.Beside {
		others = append(others, filepath.Join(dir, name))
	}
	for _, other := range others {
		if other != dir {
			_ = os.Remove(other) // it may not exist, or hold files of others
		}
	}
	return err
}
