package config

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Catalog has the names that a city.toml may use. A name is not checked if its list is nil.
type Catalog struct {
	// Runtimes contains the runtime providers. The first one is the default.
	Runtimes []Runtime
	// AgentCLIs contains the names of the built-in profiles.
	AgentCLIs []string
	// RuleSets contains the names of the guard's built-in rule sets.
	RuleSets []string
}

// Runtime is a runtime provider that may be selected.
type Runtime struct {
	Name string
	// Argument describes what follows the name and a colon, such as "<script>";
	// empty when the name stands alone.
	Argument string
	// Check returns an error if the argument is not valid; nil accepts any non-empty argument.
	Check func(argument string) error
	// Route is set for a runtime provider that only routes sessions to others. It returns the
	// runtime provider of a session, or an error if a setting is missing.
	Route func(Routing) (selection string, err error)
	// Protocol is true if agents speak the Agent Client Protocol with this runtime provider: their
	// CLI runs with its acp_command and acp_args.
	Protocol bool
	// Transports contains the values of an agent's session key that name a transport instead of a
	// runtime provider.
	Transports []string
}

// Routing is what [Runtime.Route] needs to know about a session.
type Routing struct {
	Session   string // its name
	Transport string // one of the runtime's Transports, else empty
	Settings  *Session
}

// Form returns how a selection of the runtime provider is written: "name" or "name:<argument>".
func (r Runtime) Form() string {
	if r.Argument == "" {
		return r.Name
	}
	return r.Name + ":" + r.Argument
}

// Load reads and checks the city.toml at path, including the files that it names. The error is an
// [Errors], unless the file itself cannot be read. The limits of a city.toml limit the duration of
// Load; it also returns the cause of ctx if ctx is done.
func Load(ctx context.Context, path string, known Catalog) (*City, error) {
	data, err := ReadFile(ctx, path, maxFile)
	if err != nil {
		return nil, err
	}
	return LoadText(ctx, path, data, known)
}

// LoadText does what [Load] does with a text instead of the content of the file at path.
func LoadText(ctx context.Context, path string, data []byte, known Catalog) (*City, error) {
	city, err := read(path, data, known, os.Stat)
	if ended := context.Cause(ctx); ended != nil {
		return nil, ended
	}
	return city, err
}

// Parse does what [Load] does with a text instead of the content of the file at path, but does not
// check whether the files in it exist. It does not access the file system.
func Parse(path string, data []byte, known Catalog) (*City, error) {
	return read(path, data, known, nil)
}

// ReadText returns the text of a city.toml. A file that is larger than the limit of a city.toml, or
// a pipe, is an error.
func ReadText(ctx context.Context, path string) ([]byte, error) { return ReadFile(ctx, path, maxFile) }

type statFunc func(path string) (fs.FileInfo, error)

// read decodes and checks the text of a city.toml. It uses path only in messages and for relative
// paths. The error has all mistakes. If stat is nil, it does not check whether files exist.
func read(path string, data []byte, known Catalog, stat statFunc) (*City, error) {
	root, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	city, errs := decode(path, data)
	city.Root = root
	// [[agent]] and [[agents]] were decoded separately; restore the order of the file.
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
