package config

import (
	"reflect"
	"strings"
)

// IgnoredKeys are keys of one section that gc accepts with a warning and does not use, because
// other programs that read city.toml use them.
type IgnoredKeys struct {
	Section string   // as in the file; empty for the top level
	Keys    []string // a trailing * stands for every key with that prefix
	Why     string   // why they have no effect, for people

	section reflect.Type
}

// Ignored returns all keys that gc accepts and does not use, in the order of the sections.
func Ignored() []IgnoredKeys {
	const (
		delivery  = "gc delivers prompts without such limits, see [delivery]"
		fragments = "gc has no prompt fragments; write the text into prompt_template"
		packs     = "gc has no packs; write their agents as [[agents]]"
		work      = "gc has no work items"
		options   = "gc has no provider options; write them into args"
	)
	city, workspace, session, daemon := reflect.TypeFor[City](), reflect.TypeFor[Workspace](), reflect.TypeFor[Session](), reflect.TypeFor[Daemon]()
	agent, provider, rig := reflect.TypeFor[Agent](), reflect.TypeFor[Provider](), reflect.TypeFor[Rig]()
	return []IgnoredKeys{
		{"", []string{"named_session"}, "gc has no named sessions; write an agent or a pool", city},
		{"", []string{"chat_sessions"}, "gc has no sessions that people open by hand", city},
		{"[workspace]", []string{"global_fragments"}, fragments, workspace},
		{"[workspace]", []string{"includes", "default_rig_includes"}, packs, workspace},
		{"[workspace]", []string{"prefix"}, work, workspace},
		{"[session]", []string{"nudge_ready_timeout", "nudge_lock_timeout", "nudge_retry_interval", "nudge_poll_interval", "debounce_ms"}, delivery, session},
		{"[session]", []string{"display_ms"}, "gc shows no messages in terminals", session},
		{"[session]", []string{"progress_stall_timeout", "claim_holder_stall_timeout"}, "write progress_stall_timeout into [daemon] or the agent", session},
		{"[daemon]", []string{"nudge_dispatcher"}, "the controller delivers prompts", daemon},
		{"[daemon]", []string{"observe_paths"}, "gc reads no transcripts in other directories", daemon},
		{"[daemon]", []string{"session_circuit_breaker*"}, "gc has no named sessions; see max_restarts", daemon},
		{"[daemon]", []string{"wisp_*"}, work, daemon},
		{"[[agents]]", []string{"scope"}, "an agent belongs to the rig in its dir", agent},
		{"[[agents]]", []string{"option_defaults"}, options, agent},
		{"[[agents]]", []string{"tmux_alias", "namepool"}, "a session has one name, see session_template", agent},
		{"[[agents]]", []string{"on_boot", "on_death"}, "gc has no city hooks; pre_start runs before each start, and gc events reports each exit", agent},
		{"[[agents]]", []string{"work_query", "sling_query"}, work, agent},
		{"[[agents]]", []string{"attach"}, "people may attach to every agent whose runtime provider has terminals", agent},
		{"[[agents]]", []string{"inject_fragments", "append_fragments"}, fragments, agent},
		{"[providers.<name>]", []string{"option_defaults", "options_schema"}, options, provider},
		{"[providers.<name>]", []string{"fork_flag"}, "gc forks no conversations", provider},
		{"[providers.<name>]", []string{"print_args", "title_model"}, "gc makes no titles", provider},
		{"[[rigs]]", []string{"includes"}, packs, rig},
		{"[[rigs]]", []string{"prefix"}, work, rig},
	}
}

// reasonIgnored returns why gc does not use a key of a section. It returns an empty string for
// every other key.
func reasonIgnored(section reflect.Type, key string) string {
	for _, group := range Ignored() {
		if group.section != section {
			continue
		}
		for _, name := range group.Keys {
			if name, prefix := strings.CutSuffix(name, "*"); name == key || prefix && strings.HasPrefix(key, name) {
				return group.Why
			}
		}
	}
	return ""
}
