package reach

import (
	"context"
	"maps"
	"reflect"

	"gascity/internal/config"
	"gascity/internal/plan"
	"gascity/internal/session"
	"gascity/runtime"
)

// Incarnate returns the session's configuration with the environment of one
// incarnation. An empty token keeps the one that is there.
func Incarnate(ctx context.Context, s *plan.Session, token string, secrets config.SecretSource) (runtime.Config, error) {
	cfg := s.Config
	env := maps.Clone(cfg.Env)
	if env == nil {
		env = map[string]string{}
	}
	for name, secret := range s.UpstreamEnv {
		value, err := secret.Resolve(ctx, secrets)
		if err != nil {
			return cfg, err
		}
		env[name] = value
	}
	if token != "" {
		env["GC_INSTANCE_TOKEN"] = token
	}
	cfg.Env = env
	return cfg, nil
}

// Edited reports whether an edit may change how a start goes. The first prompt
// holds the time and is no edit.
func Edited(before, after *plan.Session) bool {
	a, b := *before, *after
	for _, s := range []*plan.Session{&a, &b} {
		s.Config.PromptSuffix, s.Config.Nudge = "", ""
	}
	return !reflect.DeepEqual(a, b)
}

// Stored are the fingerprints as a decision takes them.
func Stored(f *session.Fingerprints) plan.Stored {
	return plan.Stored{Core: f.Core, Provision: f.Provision, Launch: f.Launch, Live: f.Live, Fields: f.Fields}
}

// Fingerprints are those that a start of s is made with.
func Fingerprints(s *plan.Session) session.Fingerprints {
	return session.Fingerprints{Core: s.Core, Provision: s.Provision, Launch: s.Launch, Live: s.Live, Fields: s.Fields}
}
