package agentcli

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gascity/internal/textfmt"
)

// Generic is the name of the profile for an unknown program.
const Generic = "generic"

// ErrUnknownProfile means that a [Set] has no profile with a name.
var ErrUnknownProfile = errors.New("unknown agent CLI profile")

// Set is a collection of profiles that never changes. It is safe for concurrent use.
type Set struct{ profiles map[string]Profile }

// Lookup returns a copy of the profile with the name; ok is false if there is none.
func (s *Set) Lookup(name string) (Profile, bool) {
	p, ok := s.profiles[name]
	return p.clone(), ok
}

// Get returns a copy of the profile with the name. If there is none, the error is
// [ErrUnknownProfile] and suggests a similar name or lists the known ones.
func (s *Set) Get(name string) (Profile, error) {
	if p, ok := s.Lookup(name); ok {
		return p, nil
	}
	return Profile{}, fmt.Errorf("%w %q%s", ErrUnknownProfile, name, hint(name, s.Names()))
}

// Resolve returns the profile of an agent: the one with the name; if there is none, the one of the
// family; and if there is none either, [Generic].
func (s *Set) Resolve(name, family string) Profile {
	for _, n := range []string{name, family} {
		if p, ok := s.Lookup(n); ok {
			return p
		}
	}
	p, _ := s.Lookup(Generic) // load ensures that it exists
	return p
}

// Screenless returns a set without the data about screens and dialogs. It is for sessions in which
// not the agent CLI but another program draws the screen.
func (s *Set) Screenless() *Set {
	bare := s.profiles[Generic]
	profiles := maps.Clone(s.profiles)
	for name, p := range profiles {
		p.Screen, p.Dialogs = bare.Screen, bare.Dialogs
		profiles[name] = p
	}
	return &Set{profiles: profiles}
}

// Names returns the names of all profiles, sorted.
func (s *Set) Names() []string { return sortedKeys(s.profiles) }

// Suggest returns the name in the set that is most similar to a mistyped one; empty if none is
// similar.
func (s *Set) Suggest(name string) string { return textfmt.Nearest(name, s.Names()) }

// With returns a set in which the profile with the name is changed by patch. s itself does not
// change. If s has no such profile, the change begins with a copy of patch.Base, or of [Generic].
// An error names the field that is wrong.
func (s *Set) With(name string, patch Patch) (*Set, error) {
	base, err := s.base(name, patch.Base)
	if err != nil {
		return nil, err
	}
	base.Name = name
	changed := patch.apply(base)
	if err := changed.Validate(); err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	next := maps.Clone(s.profiles)
	next[name] = changed
	return &Set{next}, nil
}

// base returns the profile that a change of the profile name begins with. from is the name in
// [Patch.Base].
func (s *Set) base(name, from string) (Profile, error) {
	if from != "" {
		p, err := s.Get(from)
		if err != nil {
			return Profile{}, fmt.Errorf("base of profile %s: %w", name, err)
		}
		return p, nil
	}
	return s.Resolve(name, Generic), nil
}

// clone returns a copy that shares no list or map with p.
func (p Profile) clone() Profile {
	p.Args, p.ACPArgs = slices.Clone(p.Args), slices.Clone(p.ACPArgs)
	p.Env, p.UnsetEnv = maps.Clone(p.Env), slices.Clone(p.UnsetEnv)
	p.ProcessNames = slices.Clone(p.ProcessNames)
	p.PermissionModes, p.UpstreamEnv, p.AskingEnv = maps.Clone(p.PermissionModes), maps.Clone(p.UpstreamEnv), maps.Clone(p.AskingEnv)
	p.ACPModes = maps.Clone(p.ACPModes)
	p.RefusedAsRoot, p.Tested = slices.Clone(p.RefusedAsRoot), slices.Clone(p.Tested)
	p.Dialogs = slices.Clone(p.Dialogs)
	return p
}

// sortedKeys returns the keys of a map, sorted.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
