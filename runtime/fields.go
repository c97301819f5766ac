package runtime

// Half is the part of the fingerprint that a [Config] field belongs to.
type Half string

// The halves. Provision and launch together are the core.
const (
	HalfNone      Half = "none"      // never hashed
	HalfProvision Half = "provision" // what the sandbox is created from
	HalfLaunch    Half = "launch"    // what runs in the sandbox
	HalfLive      Half = "live"      // what can be applied to a running agent
)

// Effect is the effect of a change of a [Config] field on a running session.
type Effect string

// The effects, from mildest to strongest.
const (
	EffectNone     Effect = "none"     // used by the next start only
	EffectLive     Effect = "live"     // RunLive; the agent continues
	EffectRelaunch Effect = "relaunch" // the agent starts again in its sandbox; if the agent is the sandbox, the session restarts
	EffectRestart  Effect = "restart"  // stop and start
)

// Field is one row of the table of [Fields].
type Field struct {
	Name   string // the field's name in [Config]
	Half   Half
	Effect Effect
	Note   string // what is hashed, or why nothing is hashed
}

// Fields returns the table of all [Config] fields in the order of the struct: the half of the
// fingerprint that each belongs to and the effect of a change. docs/reference/fingerprint.md is
// generated from it.
func Fields() []Field {
	return []Field{
		{"WorkDir", HalfProvision, EffectRestart, "the path"},
		{"Command", HalfLaunch, EffectRelaunch, "the text"},
		{"Lifecycle", HalfLaunch, EffectRelaunch, "the word"},
		{"Upstream", HalfLaunch, EffectRelaunch, "the name; addresses and credentials that follow from it are not"},
		{"Env", HalfProvision, EffectRestart, "sorted names and values; of credentials and addresses only the name; GC_ identity and GC_DIR not at all"},
		{"MCPServers", HalfLaunch, EffectRelaunch, "sorted by name; header and credential values only by name"},
		{"StartupEnvelope", HalfNone, EffectNone, "holds volatile data"},
		{"ReadyPromptPrefix", HalfNone, EffectNone, "nothing: it is only used for observing"},
		{"ReadyDelayMs", HalfNone, EffectNone, "nothing: it is only used for observing"},
		{"ProcessNames", HalfNone, EffectNone, "nothing: it is only used for observing"},
		{"EmitsPermissionWarning", HalfNone, EffectNone, "nothing: it is only used for observing"},
		{"AcceptStartupDialogs", HalfLaunch, EffectRelaunch, "only if set"},
		{"MouseOn", HalfLaunch, EffectRelaunch, "only if on"},
		{"Nudge", HalfNone, EffectNone, "delivered at a start only"},
		{"PreStart", HalfProvision, EffectRestart, "the commands in order"},
		{"SessionSetup", HalfLaunch, EffectRelaunch, "the commands in order"},
		{"SessionSetupScript", HalfLaunch, EffectRelaunch, "the path and the content"},
		{"SessionLive", HalfLive, EffectLive, "the commands in order"},
		{"ProviderName", HalfProvision, EffectRestart, "as overlay slots, in order of use"},
		{"ProviderOverlayName", HalfProvision, EffectRestart, "as overlay slots, in order of use"},
		{"InstallAgentHooks", HalfProvision, EffectRestart, "as overlay slots, in order of use"},
		{"PackOverlayDirs", HalfProvision, EffectRestart, "the content of each, not its path"},
		{"OverlayDir", HalfProvision, EffectRestart, "the content, not its path"},
		{"CopyFiles", HalfProvision, EffectRestart, "destination and content; an unreadable content is a marker"},
		{"FingerprintExtra", HalfProvision, EffectRestart, "sorted names and values"},
		{"PromptSuffix", HalfNone, EffectNone, "holds timestamps"},
		{"PromptFlag", HalfNone, EffectNone, "nothing: it is a part of the prompt"},
	}
}
