package startup

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"gascity/runtime"
)

// The variables that every agent finds in its environment.
const (
	envSession     = "GC_SESSION"
	envSessionName = "GC_SESSION_NAME"
	envInstance    = "GC_INSTANCE_TOKEN"
	envProvider    = "GC_PROVIDER"
	envReadyPrefix = "GC_READY_PROMPT_PREFIX"
	// envSetup is for set-up commands alone: what they leave in the background is no agent, and
	// never holds up a later start of the session.
	envSetup = "GC_SETUP_COMMAND"
)

const tokenBytes = 16

// newSpec returns the spec of a session without its command. The instance token
// of cfg.Env is kept, otherwise a random one is made.
func (s Sequence) newSpec(name string, cfg runtime.Config) Spec {
	spec := Spec{Name: name, WorkDir: cfg.WorkDir, Vars: map[string]string{}}
	for key, value := range runtime.SyncWorkDirEnv(cfg).Env {
		if value == "" {
			spec.Unset = append(spec.Unset, key)
		} else {
			spec.Vars[key] = value
		}
	}
	spec.Vars[envSession], spec.Vars[envSessionName] = name, name
	spec.offer(envInstance, newToken)
	spec.offer(envProvider, func() string { return cfg.ProviderName })
	spec.offer(envReadyPrefix, func() string { return cfg.ReadyPromptPrefix })
	spec.Instance = spec.Vars[envInstance]
	profile := s.Profiles.Resolve(cfg.ProviderOverlayName, cfg.ProviderName)
	for _, key := range profile.UnsetEnv {
		if _, set := spec.Vars[key]; !set && !slices.Contains(spec.Unset, key) {
			spec.Unset = append(spec.Unset, key)
		}
	}
	slices.Sort(spec.Unset)
	return spec
}

// offer sets a variable that cfg does not mention.
func (s *Spec) offer(key string, value func() string) {
	if s.Vars[key] != "" || slices.Contains(s.Unset, key) {
		return
	}
	if v := value(); v != "" {
		s.Vars[key] = v
	}
}

func newToken() string {
	token := make([]byte, tokenBytes)
	rand.Read(token) // never fails, see crypto/rand
	return hex.EncodeToString(token)
}

// Environ returns the complete environment of the agent: base without Unset,
// with Vars. The order is that of base, then of names.
func (s Spec) Environ(base []string) []string {
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
