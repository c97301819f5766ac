package plan

import (
	"maps"
	"slices"
	"strings"

	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/runtime"
)

// env returns the agent's environment: the variables of its profile, those of the agent, and gc's
// own variables, which cannot be replaced. A variable that the profile unsets is empty.
func (r *resolver) env(cfg runtime.Config) map[string]string {
	env := map[string]string{}
	for _, name := range r.profile.UnsetEnv {
		env[name] = ""
	}
	section := r.city.Providers[r.profile.Name]
	r.addEnv(env, r.profile.Env, section.Keys)
	r.addEnv(env, r.agent.Env, r.agent.Keys)
	if _, own := env[runtime.VariableMode]; !own && r.acpMode != "" {
		env[runtime.VariableMode] = r.acpMode
	}
	maps.Copy(env, r.ownEnv(cfg))
	return env
}

// addEnv adds the variables of layer, for example those of the agent, to env, which has those of
// lower layers. In a value, $VAR is replaced by the variable of the lower layers; if they have
// none, of the same layer; otherwise of the city's environment.
func (r *resolver) addEnv(env, layer map[string]string, keys config.Keys) {
	below := maps.Clone(env)
	var value func(name string, open []string) string
	value = func(name string, open []string) string {
		at := keys.Origin("env." + name)
		text := r.expand(at, "env."+name, layer[name])
		return expandVariables(text, func(wanted string) string {
			if v, ok := below[wanted]; ok {
				return v
			}
			if _, ok := layer[wanted]; ok && !slices.Contains(open, wanted) {
				return value(wanted, append(open, wanted))
			}
			if r.in.LookupEnv != nil {
				if v, ok := r.in.LookupEnv(wanted); ok {
					return v
				}
			}
			r.warn(at, "env."+name+" uses $"+wanted+", which is not set; write $$ for a dollar sign")
			return ""
		})
	}
	for _, name := range slices.Sorted(maps.Keys(layer)) {
		env[name] = value(name, []string{name})
	}
}

// expandVariables replaces $NAME and ${NAME} by their values and $$ by a dollar sign. Any other
// dollar sign stays.
func expandVariables(text string, lookup func(name string) string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 {
			return b.String() + text
		}
		b.WriteString(text[:at])
		text = text[at+1:]
		braced := strings.HasPrefix(text, "{")
		name := variableName(strings.TrimPrefix(text, "{"))
		switch {
		case strings.HasPrefix(text, "$"):
			b.WriteByte('$')
			text = text[1:]
		case name == "", braced && !strings.HasPrefix(text[1+len(name):], "}"):
			b.WriteByte('$')
		case braced:
			b.WriteString(lookup(name))
			text = text[len(name)+2:]
		default:
			b.WriteString(lookup(name))
			text = text[len(name):]
		}
	}
}

// variableName returns the longest variable name at the beginning of text, or "".
func variableName(text string) string {
	for i, c := range []byte(text) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return text[:i]
		}
	}
	return text
}

// ownEnv returns the GC_ variables that are the same each time the agent is started. The others are
// added when it is started.
func (r *resolver) ownEnv(cfg runtime.Config) map[string]string {
	v := r.vars
	own := map[string]string{
		"GC_SESSION_NAME": v["Session"],
		"GC_AGENT":        v["Agent"],
		"GC_ALIAS":        v["Agent"],
		"GC_TEMPLATE":     v["Agent"],
		"GC_CITY":         v["CityRoot"],
		"GC_CITY_PATH":    v["CityRoot"],
		"GC_CITY_NAME":    v["City"],
		"GC_DIR":          cfg.WorkDir,
	}
	if r.pool != "" {
		own["GC_TEMPLATE"] = r.pool
	}
	for name, value := range map[string]string{
		"GC_RIG":                 v["Rig"],
		"GC_RIG_ROOT":            v["RigRoot"],
		"GC_PROVIDER":            r.profile.Name,
		"GC_READY_PROMPT_PREFIX": cfg.ReadyPromptPrefix,
		"GC_BIN":                 r.in.Binary,
		"GC_HOOKS":               r.hooksFamily(),
		"GC_CHANNEL":             r.channel(),
	} {
		if value != "" {
			own[name] = value
		}
	}
	return own
}

// upstreamEnv returns the variables of the agent's upstream and credentials, except those that the
// agent sets itself.
func (r *resolver) upstreamEnv() map[string]config.Secret {
	env := map[string]config.Secret{}
	for _, name := range r.agent.Credentials {
		if variable := r.city.Credentials[name].Variable; variable != "" && !r.agent.Has("env."+variable) {
			env[variable] = config.NewSecret(config.SecretCredential, name)
		}
	}
	upstream, ok := r.city.Upstreams[r.agent.Upstream]
	if !ok {
		if len(env) == 0 {
			return nil
		}
		return env
	}
	for name, value := range upstream.Env {
		env[name] = config.NewSecret(config.SecretLiteral, value)
	}
	for key, value := range map[string]config.Secret{
		agentcli.UpstreamBaseURL:   literal(upstream.BaseURL),
		agentcli.UpstreamAPIKey:    upstream.APIKey,
		agentcli.UpstreamAuthToken: upstream.AuthToken,
	} {
		if value.IsZero() {
			continue
		}
		variable := r.profile.UpstreamEnv[key]
		if variable == "" {
			r.fail(r.agent.Position("upstream"), "upstream %q sets %s, but the environment variable for it is not known; set upstream_env in [providers.<name>], or the upstream's env", r.agent.Upstream, key)
			continue
		}
		env[variable] = value
	}
	maps.DeleteFunc(env, func(name string, _ config.Secret) bool { return r.agent.Has("env." + name) })
	return env
}

// literal returns a secret whose value is text itself, and not a reference to one; the zero value
// if text is empty.
func literal(text string) config.Secret {
	if text == "" {
		return config.Secret{}
	}
	return config.NewSecret(config.SecretLiteral, text)
}
