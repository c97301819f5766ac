package config

import (
	"path/filepath"
	"strings"
)

// packs adds a note if the city directory contains packs or files with agents. Other programs that
// read city.toml also read those; gc does not.
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
	note := c.city.ErrorAt(Origin{}, "gc does not support packs, so these files in the city directory have no effect: %s", strings.Join(found, ", "))
	note.Hint = "write the agents that they define as [[agents]] in city.toml"
	c.city.Notes = append(c.city.Notes, note)
}

// globEscape returns a file pattern that matches exactly the given path.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
