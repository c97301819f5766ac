package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"gascity/internal/agent"
	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/runtime"
)

// Inputs contains everything that a resolution depends on besides the configuration. Profiles,
// ReadFile and Now are required.
type Inputs struct {
	// Profiles are the built-in profiles of agent CLIs.
	Profiles *agentcli.Set
	// Known are the names that the configuration may use.
	Known config.Catalog
	// RuntimeOverride is the value of GC_SESSION; empty if unset.
	RuntimeOverride string
	// LookupEnv returns an environment variable of the city, for $VAR in env. Nil: there are none.
	LookupEnv func(name string) (string, bool)
	// ReadFile reads a prompt template.
	ReadFile func(path string) ([]byte, error)
	// Now is the time that the beacons show.
	Now time.Time
	// Binary is the path of gc, for GC_BIN. Empty leaves the variable out.
	Binary string
}

// Warning is a problem of an agent's configuration that does not prevent its start.
type Warning struct {
	Agent   string
	Message string
	Origin  config.Origin
}

// Resolve turns a city's configuration into desired sessions. It reads prompt templates and, for
// the fingerprints, the contents of overlays and copied files; it has no other side effects. It
// returns all errors of all agents at once as [config.Errors], with a zero Desired.
//
// An agent's own key takes precedence over the same key of its agent CLI's profile, which
// [providers.<name>] may change. The first prompt is the beacon, a blank line and the rendered
// template. Depending on the prompt mode, it becomes the shell-quoted PromptSuffix of any length
// (drivers pass a long one in a file), or the beginning of Nudge. In Nudge the configured nudge
// follows after a blank line, so that both arrive as one message.
//
// Credentials of upstreams are not resolved here, see [Session.UpstreamEnv].
func Resolve(city *config.City, in Inputs) (Desired, []Warning, error) {
	profiles, err := Profiles(city, in.Profiles)
	if err != nil {
		return Desired{}, nil, err
	}
	desired := Desired{City: city.Workspace.Name}
	if n := city.Workspace.MaxActiveSessions; n != nil {
		desired.MaxSessions = *n
	}
	var warnings []Warning
	var errs []*config.Error
	names := map[string]string{}
	for i := range city.Agents {
		family := resolveAgent(city, in, profiles, &city.Agents[i])
		for _, session := range family.sessions {
			names[session.Agent] = session.Name
		}
		desired.Sessions, desired.Pools = append(desired.Sessions, family.sessions...), append(desired.Pools, family.pools...)
		warnings, errs = append(warnings, family.warnings...), append(errs, family.errs...)
	}
	if err := agent.Distinct(names); err != nil {
		errs = append(errs, city.ErrorAt(city.Workspace.Origin("session_template"), "%v", err))
	}
	if err := config.Join(errs); err != nil {
		return Desired{}, warnings, err
	}
	values := city.Values()
	for _, s := range desired.Sessions {
		s.fingerprint()
		if s.Pool == "" {
			s.Section = sectionHash(values, s.Agent)
		}
	}
	return desired, warnings, nil
}

// sectionHash returns a hash of an agent's section without its name, so that a renamed agent has the
// same hash.
func sectionHash(values []config.Value, agent string) string {
	prefix, sum := "agents."+agent+".", sha256.New()
	for _, v := range values {
		if key, own := strings.CutPrefix(v.Key, prefix); own && key != "name" {
			fmt.Fprintf(sum, "%q %q\n", key, v.Value)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// resolver resolves one agent.
type resolver struct {
	city  *config.City
	in    Inputs
	agent *config.Agent
	rig   *config.Rig // nil if dir is not a rig

	// profile is that of the agent's CLI; the zero Profile when it names none.
	profile agentcli.Profile

	pool    string   // the qualified name of the agent's pool; empty: not a pool member
	usesACP bool     // profile describes a program that speaks the Agent Client Protocol
	acpMode string   // the session mode to set in the Agent Client Protocol; empty: none
	program string   // the shell command without its arguments
	args    []string // each one quoted
	parts   ContextParts

	vars     map[string]string // the variables of templates
	errs     []*config.Error
	warnings []Warning
}

// newResolver returns a resolver for the agent a.
func newResolver(city *config.City, in Inputs, profiles *agentcli.Set, a *config.Agent) *resolver {
	r := &resolver{city: city, in: in, agent: a}
	if name, origin := providerOf(city, a); name != "" {
		profile, err := profiles.Get(name)
		if err != nil {
			r.fail(origin, "%v", err)
		}
		r.profile = profile
	}
	r.rig, _ = city.Rig(a.Dir)
	r.vars = r.templateVariables()
	return r
}

// providerOf returns the agent CLI of an agent and the position in the configuration that names
// it. An agent with its own start_command does not use the workspace's agent CLI.
func providerOf(city *config.City, a *config.Agent) (string, config.Origin) {
	if a.Provider != "" {
		return a.Provider, a.Origin("provider")
	}
	if a.StartCommand != "" {
		return "", config.Origin{}
	}
	return city.Workspace.Provider, city.Workspace.Origin("provider")
}

// fail adds an error at a position of the configuration.
func (r *resolver) fail(at config.Origin, format string, args ...any) {
	r.errs = append(r.errs, r.city.ErrorAt(at, format, args...))
}

// warn adds a warning at a position of the configuration.
func (r *resolver) warn(at config.Origin, message string) {
	r.warnings = append(r.warnings, Warning{r.agent.QualifiedName(), message, at})
}

// session returns the resolved session of the agent.
func (r *resolver) session() *Session {
	a := r.agent
	selection := r.runtimeProvider()
	protocol := r.in.Known.Protocol(selection)
	if protocol {
		r.useACP()
	}
	r.program, r.args = r.commandAndArgs()
	session := &Session{
		Agent:        a.QualifiedName(),
		Name:         r.vars["Session"],
		Provider:     selection,
		Config:       r.config(),
		Suspended:    a.Suspended || r.city.Workspace.Suspended || r.rig != nil && r.rig.Suspended,
		PathCheck:    r.profile.PathCheck,
		UpstreamEnv:  r.upstreamEnv(),
		Credentials:  a.Credentials,
		StartTimeout: r.city.Session.StartupTimeout,
		Pool:         r.pool,
		IdleAfter:    idleAfter(a),
		MaxAge:       a.MaxSessionAge,
		MaxAgeJitter: a.MaxSessionAgeJitter,
		DrainTimeout: drainTimeout(a),
		Pending:      pendingPolicy(a),
		Stall:        r.stall(),
		Context:      ContextPolicy{float64(a.Context.WarnAt) / 100, float64(a.Context.CompactAt) / 100, float64(a.Context.HandoffAt) / 100, a.Context.Within},
		Resume:       r.resume(protocol),
	}
	session.Primer = r.parts
	mode, _ := r.promptMode()
	session.Family, session.Hooks = r.profile.Family, r.hooksFamily()
	session.ByWorker = mode == config.PromptWorker
	session.Protocol, session.Typed = protocol, r.typedReason()
	for _, name := range a.DependsOn {
		if target, ok := r.city.Dependency(a, name); ok {
			session.DependsOn = append(session.DependsOn, target)
		}
	}
	return session
}

// runtimeProvider returns the runtime provider of the agent. If the agent's own key names one that does not exist, that is a
// warning and not an error, so that the other agents can still run.
func (r *resolver) runtimeProvider() string {
	selection, origin, err := r.city.RuntimeFor(r.agent, r.in.RuntimeOverride, r.in.Known)
	errs, ok := config.AsErrors(err)
	switch {
	case !ok:
	case r.agent.Has("session") && selection != "":
		message := errs[0].Message
		if errs[0].Hint != "" {
			message += "; " + errs[0].Hint
		}
		r.warn(origin, "it cannot start: "+message)
	default:
		r.errs = append(r.errs, errs...)
	}
	return selection
}

// useACP replaces the profile by its variant for the Agent Client Protocol. It does nothing for an
// agent with a start_command, which is used as written.
func (r *resolver) useACP() {
	if r.profile.Name == "" || r.agent.StartCommand != "" {
		return
	}
	speaking, ok := r.profile.ACPProfile()
	if !ok {
		r.fail(r.agent.Position("provider"), "provider %q is not known to speak the Agent Client Protocol; set acp_command and acp_args in [providers.%s], or start_command here", r.profile.Name, r.profile.Name)
	}
	r.profile, r.usesACP = speaking, true
	mode, err := speaking.ACPMode(r.agent.PermissionMode)
	if err != nil {
		r.fail(r.agent.Position("permission_mode"), "%v", err)
	}
	r.acpMode = mode
}

// config returns the runtime configuration of the agent.
func (r *resolver) config() runtime.Config {
	a, p := r.agent, r.profile
	cfg := runtime.Config{
		WorkDir:                r.vars["WorkDir"],
		Command:                r.command(),
		Lifecycle:              runtime.Lifecycle(a.Lifecycle),
		Upstream:               a.Upstream,
		ReadyPromptPrefix:      pick(a, "ready_prompt_prefix", a.ReadyPromptPrefix, p.ReadyPromptPrefix),
		ReadyDelayMs:           pick(a, "ready_delay_ms", a.ReadyDelayMs, p.ReadyDelayMs),
		ProcessNames:           pick(a, "process_names", a.ProcessNames, p.ProcessNames),
		EmitsPermissionWarning: pick(a, "emits_permission_warning", a.EmitsPermissionWarning, p.EmitsPermissionWarning),
		AcceptStartupDialogs:   pick(a, "accept_startup_dialogs", a.AcceptStartupDialogs, p.AcceptStartupDialogs),
		MouseOn:                a.MouseMode == config.On,
		PreStart:               r.expandList("pre_start", a.PreStart),
		SessionSetup:           r.expandList("session_setup", a.SessionSetup),
		SessionSetupScript:     r.city.Abs(a.SessionSetupScript),
		SessionLive:            r.expandList("session_live", a.SessionLive),
		ProviderName:           p.Family,
		ProviderOverlayName:    p.Name,
		InstallAgentHooks:      r.installedHooks(),
		OverlayDir:             r.city.Abs(a.OverlayDir),
	}
	for _, dirs := range [][]string{r.city.Workspace.PackOverlayDirs, a.PackOverlayDirs} {
		for _, dir := range dirs {
			cfg.PackOverlayDirs = append(cfg.PackOverlayDirs, r.city.Abs(dir))
		}
	}
	for _, f := range a.CopyFiles {
		cfg.CopyFiles = append(cfg.CopyFiles, runtime.CopyEntry{Src: r.city.Abs(f.Src), RelDst: f.RelDst})
	}
	cfg.Env = r.env(cfg)
	r.prompt(&cfg)
	return cfg
}

// pick returns own, the agent's own value, if its section of city.toml contains the key; otherwise inherited.
func pick[T any](a *config.Agent, key string, own, inherited T) T {
	if a.Has(key) {
		return own
	}
	return inherited
}

// installedHooks returns the value of install_agent_hooks of the agent; if it has none, that of the workspace.
func (r *resolver) installedHooks() []string {
	return pick(r.agent, "install_agent_hooks", r.agent.InstallAgentHooks, r.city.Workspace.InstallAgentHooks)
}
