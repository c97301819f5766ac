package plan

import (
	"cmp"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/config"
)

// resolution is the result for one agent of the configuration: one session, or a pool with its
// sessions.
type resolution struct {
	sessions []*Session
	pools    []Pool // at most one
	warnings []Warning
	errs     []*config.Error
}

// resolveAgent resolves the section of one agent to its session or, if it is a pool, to the pool
// and the sessions of its members. An error in the section of a pool is reported once, not once for
// each member.
func resolveAgent(city *config.City, in Inputs, profiles *agentcli.Set, a *config.Agent) resolution {
	scale, ok := a.Scale()
	r := newResolver(city, in, profiles, a)
	if !ok {
		return resolution{sessions: []*Session{r.session()}, warnings: r.warnings, errs: r.errs}
	}
	pool := Pool{
		Agent: a.QualifiedName(), Min: scale.Min, Max: scale.Max, DrainTimeout: drainTimeout(a),
		Check: r.expand(checkOrigin(a), "check", scale.Check), Dir: city.Root, Env: r.checkEnv(),
	}
	f := resolution{errs: r.errs}
	if idleAfter(a) > 0 {
		r.warn(a.Position("idle_timeout"), "idle_timeout and sleep_after_idle have no effect on the members of a pool: its count decides")
		f.warnings = r.warnings
	}
	for number := 1; number <= scale.Max && len(f.errs) == 0; number++ {
		member := a.Member(number)
		r := newResolver(city, in, profiles, &member)
		r.pool = pool.Agent
		session := r.session()
		f.sessions, f.errs = append(f.sessions, session), append(f.errs, r.errs...)
		pool.Members = append(pool.Members, session.Agent)
		if number == 1 {
			f.warnings = append(f.warnings, r.warnings...)
		}
	}
	f.pools = []Pool{pool}
	return f
}

// checkOrigin returns the position of the pool's check in the configuration.
func checkOrigin(a *config.Agent) config.Origin {
	if a.Pool.Has("check") {
		return a.Pool.Origin("check")
	}
	return a.Origin("scale_check")
}

// checkEnv returns the variables that a pool's check gets in addition to the controller's
// environment.
func (r *resolver) checkEnv() map[string]string {
	v := r.vars
	env := map[string]string{
		"GC_TEMPLATE": v["Agent"], "GC_CITY": v["CityRoot"], "GC_CITY_PATH": v["CityRoot"], "GC_CITY_NAME": v["City"],
	}
	for name, value := range map[string]string{"GC_RIG": v["Rig"], "GC_RIG_ROOT": v["RigRoot"], "GC_BIN": r.in.Binary} {
		if value != "" {
			env[name] = value
		}
	}
	return env
}

// The defaults of drain_timeout and of the time to answer a question.
const (
	defaultDrain   = 5 * time.Minute
	defaultPending = 10 * time.Minute
)

// drainTimeout returns the agent's drain_timeout or its default.
func drainTimeout(a *config.Agent) time.Duration {
	return pick(a, "drain_timeout", a.DrainTimeout, defaultDrain)
}

// idleAfter returns the shorter of idle_timeout and sleep_after_idle; zero if neither is set.
func idleAfter(a *config.Agent) time.Duration {
	first, second := a.IdleTimeout, a.SleepAfterIdle.Duration
	if first <= 0 || second > 0 && second < first {
		return second
	}
	return first
}

// stall returns the stall policy of the agent: its own keys, else those of the [daemon] section.
func (r *resolver) stall() StallPolicy {
	a, city := r.agent, r.city.Daemon
	after := pick(a, "progress_stall_timeout", a.ProgressStallTimeout, city.ProgressStallTimeout)
	return StallPolicy{After: after.Duration, Act: string(cmp.Or(a.OnStall, city.OnStall, config.StallReport))}
}

// pendingPolicy returns the policy for the agent's questions.
func pendingPolicy(a *config.Agent) PendingPolicy {
	p := a.Pending
	policy := PendingPolicy{Policy: string(cmp.Or(p.Policy, config.PendingEscalate)), Answer: p.Answer}
	if p.Policy != config.PendingWait {
		policy.After = cmp.Or(p.After, defaultPending)
	}
	return policy
}
