package reach

import (
	"context"
	"maps"

	"gascity/internal/config"
	"gascity/internal/plan"
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
