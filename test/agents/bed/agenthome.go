package bed

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

// Key is the dummy key that every agent gets.
const Key = "sk-test-dummy-0123456789-0123456789"

// AgentHome is an agent's throw-away home with its working directory.
type AgentHome struct {
	Home, Work string
	Env        map[string]string // what the agent needs beside its PATH
	Args       []string          // further arguments of its command
}

// HomeState is what a home holds when the agent comes.
type HomeState string

// The seeds.
const (
	Fresh  HomeState = "fresh"  // only what is needed to get beyond the server of the agent CLI's maker
	Seeded HomeState = "seeded" // everything that keeps dialogs from coming up
	// Unused is the home of a person who has never started the CLI, on a machine with a
	// network: empty, and a stand-in answers for the model provider's hosts.
	Unused HomeState = "unused"
)

// StopLog is where a hook of the user's in a seeded home notes each end of a turn, as
// nanoseconds since 1970; of claude alone.
const StopLog = "stops"

// NewAgentHome makes a home for the CLI in the folder, with the given model and proxy.
func NewAgentHome(c CLI, dir string, seeds HomeState, model, proxy string) (AgentHome, error) {
	s := AgentHome{Home: filepath.Join(dir, "home"), Work: filepath.Join(dir, "work")}
	for _, folder := range []string{s.Home, s.Work} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return s, err
		}
	}
	s.Env = map[string]string{
		"HOME": s.Home, "XDG_CONFIG_HOME": filepath.Join(s.Home, ".config"), "XDG_DATA_HOME": filepath.Join(s.Home, ".local", "share"),
		"XDG_CACHE_HOME": filepath.Join(s.Home, ".cache"), "XDG_STATE_HOME": filepath.Join(s.Home, ".local", "state"),
		"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "http_proxy": proxy, "https_proxy": proxy,
		"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
	}
	furnish := map[string]func(AgentHome, HomeState, string) (AgentHome, error){
		"claude": claude, "claude-agent-acp": claude, "codex": codex, "codex-acp": codex, "gemini": gemini, "opencode": opencode, "pi": pi,
	}[c.Name]
	if furnish == nil {
		return s, fmt.Errorf("no home is known for %s", c.Name)
	}
	return furnish(s, seeds, model)
}

type object map[string]any

// put writes a JSON file into the home.
func (s AgentHome) put(v any, path ...string) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return s.write(string(raw), path...)
}

func (s AgentHome) write(text string, path ...string) error {
	file := filepath.Join(append([]string{s.Home}, path...)...)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

func (s AgentHome) with(env map[string]string) AgentHome {
	maps.Copy(s.Env, env)
	return s
}

func claude(s AgentHome, seeds HomeState, model string) (AgentHome, error) {
	if seeds == Unused {
		return s.with(map[string]string{
			"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": Key, "CLAUDE_CONFIG_DIR": filepath.Join(s.Home, ".claude"),
			"DISABLE_TELEMETRY": "1", "IS_SANDBOX": "1",
		}), nil
	}
	// Without this it looks for the server of its maker before it draws
	// anything.
	state := object{"hasCompletedOnboarding": true}
	if seeds == Seeded {
		state["customApiKeyResponses"] = object{"approved": []string{Key[len(Key)-20:]}}
		state["projects"] = object{s.Work: object{"hasTrustDialogAccepted": true}}
		// A hook of the user's goes on beside ours, and records when the CLI calls
		// it.
		stop := object{"hooks": []object{{"type": "command", "command": "date +%s%N >> " + filepath.Join(s.Home, StopLog)}}}
		settings := object{"skipDangerousModePermissionPrompt": true, "hooks": object{"Stop": []object{stop}, "StopFailure": []object{stop}}}
		if err := s.put(settings, ".claude", "settings.json"); err != nil {
			return s, err
		}
	}
	return s.with(map[string]string{
		"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": Key, "CLAUDE_CONFIG_DIR": filepath.Join(s.Home, ".claude"),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "IS_SANDBOX": "1",
	}), s.put(state, ".claude", ".claude.json")
}

func codex(s AgentHome, seeds HomeState, model string) (AgentHome, error) {
	if seeds == Fresh { // a repository with configuration of its own asks whether it is trusted
		for name, text := range map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".codex/config.toml": "[features]\n"} {
			if err := s.write(text, "..", filepath.Base(s.Work), filepath.FromSlash(name)); err != nil {
				return s, err
			}
		}
	}
	config := fmt.Sprintf("model = \"mock-model\"\nmodel_provider = \"mock\"\ncheck_for_update_on_startup = false\n"+
		"[model_providers.mock]\nname = \"mock\"\nbase_url = %q\nenv_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\n", model+"/v1")
	return s.with(map[string]string{"CODEX_HOME": filepath.Join(s.Home, ".codex"), "OPENAI_API_KEY": Key}), s.write(config, ".codex", "config.toml")
}

func gemini(s AgentHome, seeds HomeState, model string) (AgentHome, error) {
	settings := object{"privacy": object{"usageStatisticsEnabled": false}, "general": object{"disableAutoUpdate": true}}
	if seeds == Seeded {
		settings["security"] = object{"auth": object{"selectedType": "gemini-api-key"}}
		if err := s.put(object{s.Work: "TRUST_FOLDER"}, ".gemini", "trustedFolders.json"); err != nil {
			return s, err
		}
	}
	s.Args = []string{"-m", "gemini-2.5-flash"}
	return s.with(map[string]string{"GEMINI_API_KEY": Key, "GOOGLE_GEMINI_BASE_URL": model, "COLORTERM": "truecolor"}), s.put(settings, ".gemini", "settings.json")
}

func opencode(s AgentHome, _ HomeState, model string) (AgentHome, error) {
	return s, s.put(object{
		"model": "mock/mock-model", "small_model": "mock/mock-model", "autoupdate": false, "share": "disabled",
		"provider": object{"mock": object{
			"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": model + "/v1", "apiKey": Key},
			"models": object{"mock-model": object{"name": "mock"}},
		}},
	}, ".config", "opencode", "opencode.json")
}

func pi(s AgentHome, _ HomeState, model string) (AgentHome, error) {
	if err := s.put(object{"defaultProvider": "mock", "defaultModel": "mock-model"}, ".pi", "agent", "settings.json"); err != nil {
		return s, err
	}
	return s.with(map[string]string{"PI_OFFLINE": "1"}), s.put(object{"providers": object{"mock": object{
		"baseUrl": model + "/v1", "api": "openai-completions", "apiKey": Key, "models": []object{{"id": "mock-model"}},
	}}}, ".pi", "agent", "models.json")
}
