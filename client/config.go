package client

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
	Capabilities []string `json:"capabilities"`
	Extensions   []string `json:"extensions"`
}
