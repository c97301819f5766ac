package config

import (
	"maps"
	"slices"
	"time"
)

// Credential is a [credentials.<name>] section: where gc reads a credential, and how it renews it.
// The value is never part of a fingerprint, so a new value does not restart an agent.
type Credential struct {
	Keys
	Env           string         `toml:"env" doc:"The environment variable of the controller that contains the credential."`
	File          string         `toml:"file" doc:"The file that contains the credential; relative to the city. gc detects a change of the file."`
	Command       string         `toml:"command" doc:"Shell command that prints the credential: the value on one line, or {\"value\": \"...\", \"expires_at\": \"2026-03-02T00:00:00Z\"}; a file may contain the same. The command runs once for all agents. Its standard error is shown to people."`
	Type          CredentialType `toml:"type" default:"token" doc:"The type that gc reports to workers, the programs that use the worker API for an agent."`
	Variable      string         `toml:"variable" doc:"The environment variable in which agents get the credential when they start. Default: only workers get it, by the worker API."`
	Lifetime      time.Duration  `toml:"lifetime" doc:"How long a value without expires_at is valid, from when it was read or, for a file, from the file's last change. Default: forever."`
	RefreshBefore time.Duration  `toml:"refresh_before" default:"5m" doc:"gc renews the credential this long before it expires; at most half of its lifetime before."`
	Timeout       time.Duration  `toml:"timeout" default:"30s" doc:"Maximum duration of the command; then it is killed with its child processes."`
}

// CredentialType says what kind of credential it is.
type CredentialType string

// Words returns the values that a CredentialType may have in city.toml.
func (CredentialType) Words() []string { return []string{"api_key", "oauth", "token"} }

// credentials checks the [credentials.NAME] tables, and that each key of another section that
// refers to a credential names one of them.
func (c *checker) credentials() {
	for _, name := range slices.Sorted(maps.Keys(c.city.Credentials)) {
		c.credentialSection(name, c.city.Credentials[name])
	}
	for _, u := range c.city.Upstreams {
		for key, secret := range map[string]Secret{"api_key": u.APIKey, "auth_token": u.AuthToken} {
			if secret.Kind() == SecretCredential {
				c.credentialReference(u.Origin(key), secret.Reference())
			}
		}
	}
	for i := range c.city.Agents {
		a := &c.city.Agents[i]
		for j, name := range a.Credentials {
			c.credentialReference(a.ItemOrigin("credentials", j), name)
		}
	}
}

// credentialSection checks one [credentials.NAME] table.
func (c *checker) credentialSection(name string, it Credential) {
	if !segment.MatchString(name) {
		c.fail(it.Header(), "use letters, digits, '.', '_' and '-'", "%q is not the name of a credential", name)
	}
	written := slices.DeleteFunc([]string{it.Env, it.File, it.Command}, func(text string) bool { return text == "" })
	if len(written) != 1 {
		c.fail(it.Header(), `write one of env = "NAME", file = "PATH" and command = "LINE"`, "the credential %q must have exactly one source, but has %d", name, len(written))
	}
	if it.Env != "" && it.Has("lifetime") {
		c.fail(it.Origin("lifetime"), "remove lifetime, or read the credential from a file or a command", "the credential %q comes from an environment variable and cannot be renewed, so lifetime has no effect", name)
	}
	for _, text := range []string{it.Env, it.Variable} {
		if text != "" && !variable.MatchString(text) {
			c.fail(it.Header(), "use letters, digits and '_'", "%q is not the name of an environment variable", text)
		}
	}
	c.positive(it.Keys, "timeout", int64(it.Timeout))
}

// credentialReference checks that there is a [credentials.NAME] table for a name that another key
// refers to.
func (c *checker) credentialReference(at Origin, name string) {
	if _, ok := c.city.Credentials[name]; !ok {
		c.fail(at, Suggest(name, maps.Keys(c.city.Credentials)), "there is no [credentials.%s]", name)
	}
}
