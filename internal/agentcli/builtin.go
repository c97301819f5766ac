package agentcli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed profiles/*.toml
var files embed.FS

var builtin = sync.OnceValue(func() *Set {
	set, err := load(files)
	if err != nil {
		panic(err) // the profiles are part of the program, and a test loads them
	}
	return set
})

// Builtin returns the profiles that are part of gc. The first call loads them.
func Builtin() *Set { return builtin() }

// load reads all files profiles/*.toml in fsys. The error has every mistake, with its file and
// position.
func load(fsys fs.FS) (*Set, error) {
	names, err := fs.Glob(fsys, "profiles/*.toml")
	if err != nil {
		return nil, fmt.Errorf("cannot list profiles: %w", err)
	}
	set := &Set{profiles: map[string]Profile{}}
	var errs []error
	for _, name := range names {
		p, err := read(fsys, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		set.profiles[p.Name] = p
	}
	if _, ok := set.profiles[Generic]; !ok {
		errs = append(errs, fmt.Errorf("profile %s is missing", Generic))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return set, nil
}

// read reads the profile in one file. The name in the profile must be that of the file.
func read(fsys fs.FS, name string) (Profile, error) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return Profile{}, err
	}
	p, err := parse(data)
	if err != nil {
		return Profile{}, err
	}
	if want := strings.TrimSuffix(path.Base(name), ".toml"); p.Name != want {
		return Profile{}, fmt.Errorf("its name is %q, want %q", p.Name, want)
	}
	return p, nil
}

// parse parses one profile. An unknown key is an error.
func parse(data []byte) (Profile, error) {
	var p Profile
	dec := toml.NewDecoder(strings.NewReader(string(data))).DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
			return Profile{}, errors.New(strict.String())
		}
		if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
			return Profile{}, errors.New(bad.String())
		}
		return Profile{}, err
	}
	if p.Family == "" {
		p.Family = p.Name
	}
	if err := p.Validate(); err != nil {
		return Profile{}, err
	}
	return p, nil
}
