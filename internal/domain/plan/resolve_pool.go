package plan

import (
	"cmp"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/config"
)

// resolution is what one agent of the configuration resolves to: one session, or a
// pool of them.
type resolution struct {
	sessions []Session
	pools    []Pool // at most one
	warnings []Warning
	errs     []*config.Error
}

// resolveAgent resolves an agent. What is wrong with a pool is reported once,
// not for each member.
func resolveAgent(city *config.City, in Inputs, profiles *agentcli.Set, a *config.Agent) resolution {
	scale, ok := a.Scale()
	if !ok {
		r := newResolver(city, in, profiles, a)
		session := r.session()
		return resolution{sessions: []Session{session}, warnings: r.warnings, errs: r.errs}
	}
	r := newResolver(city, in, profiles, a)
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
		session.Number = number
		f.sessions, f.errs = append(f.sessions, session), append(f.errs, r.errs...)
		pool.Members = append(pool.Members, session.Agent)
		if number == 1 {
			f.warnings = append(f.warnings, r.warnings...)
		}
	}
	f.pools = []Pool{pool}
	return f
}

func checkOrigin(a *config.Agent) config.Origin {
	if a.Pool.Has("check") {
		return a.Pool.Origin("check")
	}
	return a.Origin("scale_check")
}

// checkEnv returns the environment of a pool's check beside the controller's
// own.
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

// Defaults of an agent's keys.
const (
	defaultDrain   = 5 * time.Minute
	defaultPending = 10 * time.Minute
)

func drainTimeout(a *config.Agent) time.Duration {
	return pick(a, "drain_timeout", a.DrainTimeout, defaultDrain)
}

// idleAfter returns the shorter of the two idle times, zero if there is none.
func idleAfter(a *config.Agent) time.Duration {
	first, second := a.IdleTimeout, a.SleepAfterIdle.Duration
	if first <= 0 || second > 0 && second < first {
		return second
	}
	return first
}

// stall returns what is done about an agent without progress, the agent's own keys first.
func (r *resolver) stall() StallPolicy {
	a, city := r.agent, r.city.Daemon
	after := pick(a, "progress_stall_timeout", a.ProgressStallTimeout, city.ProgressStallTimeout)
	return StallPolicy{After: after.Duration, Act: string(cmp.Or(a.OnStall, city.OnStall, config.StallReport))}
}

func pendingPolicy(a *config.Agent) PendingPolicy {
	p := a.Pending
	policy := PendingPolicy{Policy: string(cmp.Or(p.Policy, config.PendingEscalate)), Answer: p.Answer}
	if p.Policy != config.PendingWait {
		policy.After = cmp.Or(p.After, defaultPending)
	}
	return policy
}
