package config

import (
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed template.toml
var templateText string

// Template returns the text of a new city.toml with comments and one agent, a
// shell. The name is the city's.
func Template(name string) string {
	quoted, err := json.Marshal(name) // every JSON string is a TOML string
	if err != nil {
		panic("config: template: " + err.Error()) // a string always marshals
	}
	return strings.Replace(templateText, `"NAME"`, string(quoted), 1)
}
