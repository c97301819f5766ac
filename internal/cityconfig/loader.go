// Package cityconfig loads the configuration of a city and derives from it the desired sessions,
// the guard rules, the budgets, the warnings for people, the credentials, and the settings of the
// runtime providers. It also reports mistakes in a configuration, writes the configuration of a new
// city, watches the files for edits, and finds out which agent CLIs are installed on this machine, in
// which version and with which permission modes.
package cityconfig

import (
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/proc"
	"gascity/provider/all"
	"gascity/runtime"
)

// Loader loads configurations of cities. It has the environment and the programs of this process,
// which some settings depend on. It is safe for concurrent use.
type Loader struct {
	Environ    Environ // of the process
	Executable string  // path of this program, which is also the shim
	Now        func() time.Time
	Finder     *proc.ProgramFinder // finds the programs of agents
	Helps      *HelpTexts          // the help texts of agent CLIs
	// ShortLived means that the city stops with this process: its sockets need not survive a logout
	// and must leave nothing in the user's state directory.
	ShortLived bool
	// OpenProvider opens the runtime provider of a selection; normally [all.Open]. Tests set
	// another function to replace the part that starts processes.
	OpenProvider func(selection string, cfg all.Config) (runtime.Provider, error)
}

// NewLoader returns a loader for a process with the given environment. executable is the path of
// gc. It reads no file.
func NewLoader(environ []string, executable string, now func() time.Time) *Loader {
	l := &Loader{Environ: environ, Executable: executable, Now: now, Helps: &HelpTexts{}, OpenProvider: all.Open}
	l.Finder = &proc.ProgramFinder{Shell: l.Environ.Get("SHELL"), Env: func() []string { return l.Environ.Base(agentcli.Builtin()) }}
	return l
}

// Machine returns a description of this machine for the search for agent CLIs.
func (l *Loader) Machine() Machine {
	return Machine{Finder: l.Finder, Env: l.Environ.Base(agentcli.Builtin()), PATH: l.Environ.Get("PATH")}
}
