// Package cityconfig loads the configuration of a city and derives what the program works with: the
// desired sessions, the rules of the guard, the budgets, the warnings for people, the credentials,
// and the settings of the runtime providers. It also reports the mistakes in a configuration, writes
// that of a new city, and watches the files for edits.
package cityconfig

import (
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/agentcli/installed"
	"gascity/internal/proc/programpath"
	"gascity/provider/all"
	"gascity/runtime"
)

// Loader loads configurations on behalf of a process. It is safe for concurrent use.
type Loader struct {
	Environ    Environ // of the process
	Executable string  // path of this program, which is also the shim
	Now        func() time.Time
	Finder     *programpath.Finder  // of the programs of agents
	Helps      *installed.HelpTexts // of agent CLIs
	// ShortLived is set for a city that ends with this process: its sockets need not survive
	// a logout, and leave nothing in the user's state folder.
	ShortLived bool
	// OpenProvider opens the runtime provider that a selection names: [all.Open]. Tests replace
	// what starts processes.
	OpenProvider func(selection string, cfg all.Config) (runtime.Provider, error)
}

// NewLoader returns a loader for a process with the environment. It reads nothing.
func NewLoader(environ []string, executable string, now func() time.Time) *Loader {
	l := &Loader{Environ: environ, Executable: executable, Now: now, Helps: &installed.HelpTexts{}, OpenProvider: all.Open}
	l.Finder = &programpath.Finder{Shell: l.Environ.Get("SHELL"), Env: l.Environ.Base(agentcli.Builtin())}
	return l
}

// Machine returns the machine of this process, for the search for agent CLIs.
func (l *Loader) Machine() installed.Machine {
	return installed.Machine{Finder: l.Finder, Env: l.Environ.Base(agentcli.Builtin()), PATH: l.Environ.Get("PATH")}
}
