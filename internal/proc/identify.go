package proc

import (
	"errors"
	"slices"
)

// The agent of a session is one process, identified by pid and start time; its name may change later. It is found in the
// process tree by the configured names, after it is ready.

// Named reports whether the process has one of the names, see [Match]. It returns an error if that is unknown, and false for a
// process that has exited.
func Named(i Info, names []string) (bool, error) {
	if len(names) == 0 {
		return false, nil
	}
	argv, err := Argv(i.PID)
	if errors.Is(err, ErrGone) {
		return false, nil
	}
	return err == nil && Match(i, argv, names), err
}

// AnyNamed reports whether one of the processes has one of the names. An error means that no process is known to have a name,
// but some could not be checked.
func AnyNamed(tree []Info, names []string) (bool, error) {
	var unknown error
	for _, info := range tree {
		fits, err := Named(info, names)
		if fits {
			return true, nil
		}
		unknown = errors.Join(unknown, err)
	}
	return false, unknown
}

// Agent returns the process of a tree that is the agent. tree has parents before children. The agent is the first process with
// one of the names, else the first that is not a shell. ok is false if there is none.
func Agent(tree []Info, names []string) (agent Info, ok bool) {
	for _, fits := range []func(Info) bool{
		func(i Info) bool { fits, err := Named(i, names); return fits && err == nil },
		func(i Info) bool { return !i.IsShell() },
	} {
		if at := slices.IndexFunc(tree, fits); at >= 0 {
			return tree[at], true
		}
	}
	return Info{}, false
}

// AgentAlive reports whether the agent runs. If the identified process has exited, any process of the tree with one of the
// names counts as the agent, because some agents restart themselves. It returns an error if the state is unknown.
func AgentAlive(agent ID, tree func() ([]Info, error), names []string) (bool, error) {
	alive, err := Alive(agent)
	for range 2 { // a process whose parent exits during the scan can be missed, so it scans twice
		if alive || err != nil {
			return alive, err
		}
		var infos []Info
		if infos, err = tree(); err == nil {
			alive, err = AnyNamed(infos, names)
		}
	}
	return alive, err
}

// Live returns the processes of a tree that have not exited and whose pid is not in without.
func Live(tree []Info, without ...int) []Info {
	return slices.DeleteFunc(slices.Clone(tree), func(i Info) bool { return i.Ended() || slices.Contains(without, i.PID) })
}

// shells are the names of programs that start agents and are not agents.
var shells = []string{"sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh"}

// IsShell reports whether the process has the name of a shell.
func (i Info) IsShell() bool { return slices.Contains(shells, i.Comm) }
