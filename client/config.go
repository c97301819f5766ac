package client

import (
	"context"
	"net/http"
)

// Config is a city's resolved configuration with the origin of each value.
type Config struct {
	Path   string        `json:"path"`
	Values []ConfigValue `json:"values"`
}

// ConfigValue is one resolved value.
type ConfigValue struct {
	Key    string `json:"key"`    // "agents.worker.command"
	Value  string `json:"value"`  // as TOML; a credential is shown as "********"
	Origin string `json:"origin"` // "city.toml:12", "profile claude", "default", "environment GC_SESSION"
}

// Provider describes a runtime provider that the controller can use.
type Provider struct {
	Name         string   `json:"name"`
	Summary      string   `json:"summary"`
	Default      bool     `json:"default,omitempty"`
	Version      string   `json:"version,omitempty"` // version of the tools that it runs
	Problem      string   `json:"problem,omitempty"` // why it cannot work on this machine, and the fix
	Capabilities []string `json:"capabilities"`
	Extensions   []string `json:"extensions"`
}

// ProviderList is the document that lists providers.
type ProviderList struct {
	Providers []Provider `json:"providers"`
}

// Config returns the current configuration.
func (c *Client) Config(ctx context.Context) (Config, error) {
	return call[Config](ctx, c, http.MethodGet, "/v1/config", nil)
}

// Reload reads city.toml again now. If it is not valid, the error is [ErrInvalid] and the previous
// configuration stays active.
func (c *Client) Reload(ctx context.Context) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, "/v1/reload", nil)
}

// Providers returns the runtime providers that the controller can use.
func (c *Client) Providers(ctx context.Context) ([]Provider, error) {
	list, err := call[ProviderList](ctx, c, http.MethodGet, "/v1/providers", nil)
	return list.Providers, err
}
