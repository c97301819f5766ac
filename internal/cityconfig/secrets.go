package cityconfig

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/redact"
	"gascity/internal/service/credentials"
)

// Secrets returns the functions that read the credentials of the city at root: from the
// environment, from files and from commands. Relative paths begin at root. Each value is also
// passed to hide, so that it does not appear in the log.
func (l *Loader) Secrets(root string, hide func(string)) config.SecretSource {
	return config.SecretSource{
		Env: func(name string) (string, bool) {
			value, ok := l.Environ.Lookup(name)
			hide(value)
			return value, ok
		},
		File: func(path string) ([]byte, error) {
			if !filepath.IsAbs(path) {
				path = filepath.Join(root, path)
			}
			data, err := os.ReadFile(path)
			hide(strings.TrimRight(string(data), "\r\n"))
			return data, err
		},
		Command: func(ctx context.Context, line string) ([]byte, error) {
			cmd := exec.CommandContext(ctx, "sh", "-c", line)
			cmd.Dir, cmd.Env = root, l.Environ.Base(agentcli.Builtin())
			data, err := cmd.Output()
			hide(strings.TrimRight(string(data), "\r\n"))
			return data, err
		},
	}
}

// HideUpstreams adds the credentials of the desired sessions to a redactor: the environment
// variables whose names look like credentials, and the credentials for model providers that have
// one of the given kinds.
func HideUpstreams(ctx context.Context, secrets *redact.Redactor, desired *plan.Desired, from config.SecretSource, kinds ...config.SecretKind) {
	for _, s := range desired.Sessions {
		secrets.HideVariables(s.Config.Env)
		for _, secret := range s.UpstreamEnv {
			if !slices.Contains(kinds, secret.Kind()) {
				continue
			}
			if value, err := secret.Resolve(ctx, from); err == nil {
				secrets.Hide(value)
			}
		}
	}
}

// HideNotify hides the credentials that are written in the [[notify]] sections: addresses such as that of a webhook, tokens, and those
// in commands.
func HideNotify(secrets *redact.Redactor, city *config.City) {
	for i := range city.Notify {
		n := &city.Notify[i]
		for _, credential := range n.WrittenCredentials() {
			secrets.Hide(credential)
		}
	}
}

// Redactor returns a redactor that hides the city's credentials from the environment, from files
// and from city.toml. It runs no command.
func (l *Loader) Redactor(ctx context.Context, root string) *redact.Redactor {
	known := &redact.Redactor{}
	known.HideEnvironment(l.Environ)
	r, err := l.Load(ctx, root)
	if err != nil {
		return known
	}
	source := l.Secrets(root, known.Hide)
	for _, name := range slices.Sorted(maps.Keys(r.City.Credentials)) {
		c := r.City.Credentials[name]
		if c.Command != "" {
			continue
		}
		from := credentials.Source{Env: c.Env, File: r.City.Abs(c.File)}
		if v, err := from.Read(ctx, credentials.Environment{Lookup: source.Env, Now: l.Now}); err == nil {
			known.Hide(string(v.Secret))
		}
	}
	HideNotify(known, r.City)
	HideUpstreams(ctx, known, &r.Desired, source, config.SecretLiteral, config.SecretEnv, config.SecretFile)
	return known
}
