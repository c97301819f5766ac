package proc

import (
	"errors"
	"slices"
)

// The agent of a session is a process that is known by number and start time, whatever it
// calls itself later. Which one of a tree it is, is found out once it is ready, by the
// names that are configured for it.

// Named reports whether the process has one of the names, see [Match]; an error if that
// cannot be known. One that has ended has none.
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

// AnyNamed reports whether one of the processes has one of the names. An error says that
// none is known to, and that one may.
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

// Agent returns which process of a tree, parents first, is the agent: the first one that
// has one of the names, else the first that is not a shell. ok is false if none is.
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

// AgentAlive reports whether the agent lives; an error if that cannot be known. The
// process that was identified decides; if it has ended, another one of the tree with one
// of the names takes its place, as agents do that start themselves again.
func AgentAlive(agent ID, tree func() ([]Info, error), names []string) (bool, error) {
	alive, err := Alive(agent)
	for range 2 { // a process whose parent ended during the look was in no tree
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

// Live returns the processes of a tree without those of the given numbers and those that
// have ended.
func Live(tree []Info, without ...int) []Info {
	return slices.DeleteFunc(slices.Clone(tree), func(i Info) bool { return i.Ended() || slices.Contains(without, i.PID) })
}

// shells are the programs that start agents and are none.
var shells = []string{"sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh"}

// IsShell reports whether the process is a shell by its name.
func (i Info) IsShell() bool { return slices.Contains(shells, i.Comm) }
