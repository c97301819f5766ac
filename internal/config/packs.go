package config

import (
	"path/filepath"
	"strings"
)

// packs adds a note if the city directory contains packs or agents in separate files. Other
// implementations use such files; gc reads only city.toml.
func (c *checker) packs() {
	if c.stat == nil {
		return
	}
	var found []string
	if info, err := c.stat(filepath.Join(c.city.Root, "pack.toml")); err == nil && !info.IsDir() {
		found = append(found, "pack.toml")
	}
	if info, err := c.stat(filepath.Join(c.city.Root, "packs")); err == nil && info.IsDir() {
		found = append(found, "packs/")
	}
	if agents, err := filepath.Glob(filepath.Join(globEscape(c.city.Root), "agents", "*", "agent.toml")); err == nil && len(agents) > 0 {
		found = append(found, "agents/*/agent.toml")
	}
	if len(found) == 0 {
		return
	}
	note := c.city.ErrorAt(Origin{}, "packs are not supported, so these files beside it have no effect: %s", strings.Join(found, ", "))
	note.Hint = "write the agents that they define as [[agents]] in city.toml"
	c.city.Notes = append(c.city.Notes, note)
}

// globEscape returns a pattern that matches only the path itself.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
