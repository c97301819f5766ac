package config

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Catalog is what the rest of the product knows by name. A nil list is not
// checked.
type Catalog struct {
	// Runtimes are the runtime providers. The first one is the default.
	Runtimes []Runtime
	// AgentCLIs are the built-in profiles.
	AgentCLIs []string
	// RuleSets are the rule sets of the guard.
	RuleSets []string
}

// Runtime is a runtime provider that may be selected.
type Runtime struct {
	Name string
	// Argument describes what follows the name and a colon, such as "<script>";
	// empty when the name stands alone.
	Argument string
	// Check judges the argument; nil accepts any that is not empty.
	Check func(argument string) error
	// Route makes it one that only routes: it chooses the runtime provider of a
	// session, or says what is missing for that. Nil for all others.
	Route func(Routing) (selection string, err error)
	// Protocol says that agents speak the Agent Client Protocol there: their CLI is run
	// with its acp_command and acp_args.
	Protocol bool
	// Transports are values of an agent's session that mean a transport, which Route
	// turns into a provider.
	Transports []string
}

// Routing is what a session is routed by.
type Routing struct {
	Session   string // its name
	Transport string // one of the runtime's Transports, else empty
	Settings  *Session
}

// Form returns how the provider is written: "name" or "name:<argument>".
func (r Runtime) Form() string {
	if r.Argument == "" {
		return r.Name
	}
	return r.Name + ":" + r.Argument
}

// Load reads the city.toml at path and checks it, the files that it names
// included. The error is an [Errors], unless the file itself cannot be read. The time that it
// takes is bounded by the limits of a city.toml; ctx ends it earlier, between its steps.
func Load(ctx context.Context, path string, known Catalog) (*City, error) {
	data, err := ReadFile(ctx, path, maxFile)
	if err != nil {
		return nil, err
	}
	city, err := read(path, data, known, os.Stat)
	if ended := context.Cause(ctx); ended != nil {
		return nil, ended
	}
	return city, err
}

// Parse is [Load] on the text of a file at path, without a look at the files
// that it names. It touches nothing.
func Parse(path string, data []byte, known Catalog) (*City, error) {
	return read(path, data, known, nil)
}

type statFunc func(path string) (fs.FileInfo, error)

func read(path string, data []byte, known Catalog, stat statFunc) (*City, error) {
	root, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	city, errs := decode(path, data)
	city.Root = root
	// [[agent]] and [[agents]] come one after the other; the file's order counts.
	slices.SortStableFunc(city.Agents, func(a, b Agent) int { return a.at.offset - b.at.offset })
	if !city.Workspace.Has("name") {
		city.Workspace.Name = filepath.Base(root)
	}
	c := &checker{city: city, catalog: known, stat: stat, decoded: errs}
	c.check()
	c.packs()
	if err := Join(append(errs, c.errs...)); err != nil {
		return nil, err
	}
	return city, nil
}
