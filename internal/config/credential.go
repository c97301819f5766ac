package config

import (
	"maps"
	"slices"
	"time"
)

// Credential is a [credentials.<name>] section: where a credential is, and how it is
// kept fresh. Its value is never part of a fingerprint.
type Credential struct {
	Keys
	Env           string         `toml:"env" doc:"The controller's variable that has it."`
	File          string         `toml:"file" doc:"The file that has it; relative to the city. A change of the file is noticed."`
	Command       string         `toml:"command" doc:"Shell command that prints it: the value on one line, or {\"value\": \"...\", \"expires_at\": \"2026-03-02T00:00:00Z\"}, which a file may have too. It is run once for all agents; what it prints on its standard error is shown to people."`
	Type          CredentialType `toml:"type" default:"token" doc:"The type that gc reports to workers."`
	Variable      string         `toml:"variable" doc:"The variable in which agents get it when they start. Default: they get it by their workers alone."`
	Lifetime      time.Duration  `toml:"lifetime" doc:"How long a value is good that does not say so, from when it was read, that of a file from the file's change. Default: for ever."`
	RefreshBefore time.Duration  `toml:"refresh_before" default:"5m" doc:"How long before its end it is renewed; at most half its lifetime."`
	Timeout       time.Duration  `toml:"timeout" default:"30s" doc:"Bound of the command; then it is killed with all that it started."`
}

// CredentialType is what a credential is.
type CredentialType string

// Words lists the allowed values.
func (CredentialType) Words() []string { return []string{"api_key", "oauth", "token"} }

func (c *checker) credentials() {
	for _, name := range slices.Sorted(maps.Keys(c.city.Credentials)) {
		c.account(name, c.city.Credentials[name])
	}
	for _, u := range c.city.Upstreams {
		for key, secret := range map[string]Secret{"api_key": u.APIKey, "auth_token": u.AuthToken} {
			if secret.Kind() == SecretCredential {
				c.credential(u.Origin(key), secret.Reference())
			}
		}
	}
	for i := range c.city.Agents {
		a := &c.city.Agents[i]
		for j, name := range a.Credentials {
			c.credential(a.ItemOrigin("credentials", j), name)
		}
	}
}

// account checks a section.
func (c *checker) account(name string, it Credential) {
	if !segment.MatchString(name) {
		c.fail(it.Header(), "use letters, digits, '.', '_' and '-'", "%q is not the name of a credential", name)
	}
	written := slices.DeleteFunc([]string{it.Env, it.File, it.Command}, func(text string) bool { return text == "" })
	if len(written) != 1 {
		c.fail(it.Header(), `write one of env = "NAME", file = "PATH" and command = "LINE"`, "the credential %q has %d sources, must have one", name, len(written))
	}
	if it.Env != "" && it.Has("lifetime") {
		c.fail(it.Origin("lifetime"), "a variable of the controller never changes", "the credential %q cannot be renewed", name)
	}
	for _, text := range []string{it.Env, it.Variable} {
		if text != "" && !variable.MatchString(text) {
			c.fail(it.Header(), "use letters, digits and '_'", "%q is not the name of an environment variable", text)
		}
	}
	c.positive(it.Keys, "timeout", int64(it.Timeout))
}

// credential checks a reference to one.
func (c *checker) credential(at Origin, name string) {
	if _, ok := c.city.Credentials[name]; !ok {
		c.fail(at, suggest(name, slices.Sorted(maps.Keys(c.city.Credentials))), "there is no [credentials.%s]", name)
	}
}
