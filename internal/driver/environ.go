package driver

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"gascity/internal/proc"
	"gascity/runtime"
)

// The variables in the environment of every agent, beside those of package proc.
const (
	envSessionName = "GC_SESSION_NAME"
	envProvider    = "GC_PROVIDER"
	envReadyPrefix = "GC_READY_PROMPT_PREFIX"
)

const tokenBytes = 16

// newSpec returns the spec of a session without its command. The instance token is that of cfg.Env, or else a new random token.
func (s StartSequence) newSpec(name string, cfg runtime.Config) StartSpec {
	spec := StartSpec{Name: name, WorkDir: cfg.WorkDir, Vars: map[string]string{}}
	for key, value := range runtime.SyncWorkDirEnv(cfg).Env {
		if value == "" {
			spec.Unset = append(spec.Unset, key)
		} else {
			spec.Vars[key] = value
		}
	}
	spec.Vars[proc.SessionKey], spec.Vars[envSessionName] = name, name
	spec.setDefault(proc.TokenKey, NewToken)
	spec.setDefault(envProvider, func() string { return cfg.ProviderName })
	spec.setDefault(envReadyPrefix, func() string { return cfg.ReadyPromptPrefix })
	spec.Instance = spec.Vars[proc.TokenKey]
	profile := s.Profiles.Resolve(cfg.ProviderOverlayName, cfg.ProviderName)
	for _, key := range profile.UnsetEnv {
		if _, set := spec.Vars[key]; !set && !slices.Contains(spec.Unset, key) {
			spec.Unset = append(spec.Unset, key)
		}
	}
	slices.Sort(spec.Unset)
	return spec
}

// setDefault sets a variable that cfg.Env does not mention. An empty value is not set.
func (s *StartSpec) setDefault(key string, value func() string) {
	if s.Vars[key] != "" || slices.Contains(s.Unset, key) {
		return
	}
	if v := value(); v != "" {
		s.Vars[key] = v
	}
}

// NewToken returns a new random instance token, in hexadecimal digits.
func NewToken() string {
	token := make([]byte, tokenBytes)
	rand.Read(token) // never returns an error, see crypto/rand
	return hex.EncodeToString(token)
}

// Environ returns the complete environment of the agent: base without the variables in Unset, plus Vars. Variables of base come
// first, in their order; then those of Vars, sorted by name.
func (s StartSpec) Environ(base []string) []string {
	out := make([]string, 0, len(base)+len(s.Vars))
	for _, entry := range base {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := s.Vars[name]; !replaced && !slices.Contains(s.Unset, name) {
			out = append(out, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Vars)) {
		out = append(out, name+"="+s.Vars[name])
	}
	return out
}
