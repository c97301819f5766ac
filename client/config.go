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

// ConfigFault is one mistake or warning in a configuration.
type ConfigFault struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`   // from 1; zero if it concerns the whole file
	Column  int    `json:"column,omitempty"` // in characters, from 1
	Message string `json:"message"`
	Excerpt string `json:"excerpt,omitempty"` // the line and a caret below it
	Hint    string `json:"hint,omitempty"`    // "did you mean ...?"
	Alone   bool   `json:"alone,omitempty"`   // only one agent is affected; the others can run
	Warning bool   `json:"warning,omitempty"` // not a mistake: a key has no effect, or not the expected one
}

// ConfigFile is the text of city.toml for an editor. Each credential in it is replaced by a placeholder
// such as "********4f2a91": that text stands for the same value when it is sent back.
type ConfigFile struct {
	Path   string `json:"path"`
	Text   string `json:"text"`
	Hash   string `json:"hash"`   // of the file on disk
	Hidden int    `json:"hidden"` // how many values are replaced
}

// ConfigEdit is another text of city.toml.
type ConfigEdit struct {
	Text string `json:"text"`
	Hash string `json:"hash,omitempty"` // [ConfigFile].Hash of the text that was edited
}

// ConfigPreview is what another text of city.toml would do.
type ConfigPreview struct {
	Hash   string        `json:"hash"`           // of the file on disk now
	Faults []ConfigFault `json:"faults"`         // with the positions in the text that was sent
	Plan   *Plan         `json:"plan,omitempty"` // missing if the text cannot be used
}

// CanApply reports whether the controller would accept the text.
func (p ConfigPreview) CanApply() bool { return p.Plan != nil }

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

// ConfigFile returns the text of city.toml. If its credentials cannot be hidden, the error is
// [ErrRefused].
func (c *Client) ConfigFile(ctx context.Context) (ConfigFile, error) {
	return call[ConfigFile](ctx, c, http.MethodGet, "/v1/config/file", nil)
}

// PreviewConfig returns the mistakes in another text of city.toml, and what the controller would do
// with it. Nothing is changed. A placeholder of an unknown credential is [ErrInvalid].
func (c *Client) PreviewConfig(ctx context.Context, req ConfigEdit) (ConfigPreview, error) {
	return call[ConfigPreview](ctx, c, http.MethodPost, "/v1/config/preview", req)
}

// ApplyConfig writes another text of city.toml, whole or not at all, and makes the controller read it.
// If the file has changed since Hash was read, the error is [ErrRefused]; if the text has mistakes, it is
// [ErrInvalid]. Nothing is written then.
func (c *Client) ApplyConfig(ctx context.Context, req ConfigEdit) (Done, error) {
	return call[Done](ctx, c, http.MethodPut, "/v1/config/file", req)
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
