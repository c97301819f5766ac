package doctor

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"mvdan.cc/sh/v3/syntax"
)

// smokeWorkspace is the name of the temporary city.
const smokeWorkspace = "doctor"

// copiedTables are the tables of a city.toml that configure the access to agent CLIs;
// copiedAgentKeys are the keys of an agent that do.
var (
	copiedTables    = []string{"providers", "upstreams", "credentials"}
	copiedAgentKeys = []string{"provider", "upstream", "credentials", "start_command", "command", "args", "args_append", "permission_mode", "env"}
)

// newSmokeConfig returns the city.toml of a city with one agent for each agent CLI. The agent has
// the name of the agent CLI.
func newSmokeConfig(clis []string) ([]byte, error) {
	agents := make([]map[string]any, len(clis))
	for i, cli := range clis {
		agents[i] = map[string]any{"name": cli, "provider": cli}
	}
	return encodeSmokeConfig(map[string]any{"agents": agents})
}

// copySmokeConfig returns the city.toml of a temporary city with one agent for each agent CLI that a
// city uses. text is that city's city.toml, root its directory. Each agent copies the settings of
// the first agent that uses the agent CLI. It runs on this machine and has no prompts, files or
// start commands. names are the names of the copied agents.
func copySmokeConfig(text []byte, root string) (made []byte, names []string, err error) {
	var city map[string]any
	if err := toml.Unmarshal(text, &city); err != nil {
		return nil, nil, fmt.Errorf("cannot read city.toml: %w", err)
	}
	out := map[string]any{}
	for _, key := range copiedTables {
		if table, ok := city[key]; ok {
			out[key] = table
		}
	}
	if err := makePathsAbsolute(out["credentials"], root); err != nil {
		return nil, nil, err
	}
	seen := map[any]bool{}
	var agents []map[string]any
	for _, agent := range listTables(city["agents"]) {
		cli, _ := agent["provider"].(string)
		name, _ := agent["name"].(string)
		if cli == "" || name == "" || seen[cli] {
			continue
		}
		seen[cli] = true
		maps.DeleteFunc(agent, func(key string, _ any) bool { return key != "name" && !slices.Contains(copiedAgentKeys, key) })
		agents, names = append(agents, agent), append(names, name)
	}
	if len(agents) == 0 {
		return nil, nil, nil
	}
	out["agents"] = agents
	made, err = encodeSmokeConfig(out)
	return made, names, err
}

// listTables returns the tables of an array.
func listTables(array any) []map[string]any {
	list, _ := array.([]any)
	var out []map[string]any
	for _, entry := range list {
		if table, ok := entry.(map[string]any); ok {
			out = append(out, table)
		}
	}
	return out
}

// makePathsAbsolute changes credentials so that relative files and commands use the directory root.
func makePathsAbsolute(credentials any, root string) error {
	there, err := syntax.Quote(root, syntax.LangPOSIX)
	if err != nil {
		return fmt.Errorf("cannot quote the path of the city directory for a shell: %w", err)
	}
	byName, _ := credentials.(map[string]any)
	for _, entry := range byName {
		credential, _ := entry.(map[string]any)
		file, ok := credential["file"].(string)
		if ok && !filepath.IsAbs(file) && !strings.HasPrefix(file, "~") {
			credential["file"] = filepath.Join(root, file)
		}
		if command, ok := credential["command"].(string); ok {
			credential["command"] = "cd " + there + " && { " + command + "\n}"
		}
	}
	return nil
}

// encodeSmokeConfig returns the city as TOML.
func encodeSmokeConfig(city map[string]any) ([]byte, error) {
	city["workspace"] = map[string]any{"name": smokeWorkspace}
	text, err := toml.Marshal(city)
	if err != nil {
		return nil, fmt.Errorf("cannot write the city.toml of the check: %w", err)
	}
	return text, nil
}
