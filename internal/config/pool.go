package config

import "fmt"

// Scale is how many members a pool has.
type Scale struct {
	Min, Max int
	Check    string // shell command that prints the wanted number; empty: Min is wanted
}

// maxMembers is how many members a pool may have at most, because lists show each of them.
const maxMembers = 1000

// Scale returns how many members the agent's pool has; ok is false if the agent is not a pool.
// max_active_sessions = 1 without another key of a pool does not make the agent a pool.
func (a *Agent) Scale() (scale Scale, ok bool) {
	most := a.MaxActiveSessions
	alone := !a.Has("pool") && !a.Has("min_active_sessions") && !a.Has("scale_check")
	if alone && (most == nil || *most == 1) {
		return Scale{}, false
	}
	scale = Scale{Min: 1, Check: a.ScaleCheck}
	if a.Pool.Has("check") {
		scale.Check = a.Pool.Check
	}
	if scale.Check != "" {
		scale.Min = 0
	}
	for _, n := range []*int{a.MinActiveSessions, a.Pool.Min} {
		if n != nil {
			scale.Min = *n
		}
	}
	for _, n := range []*int{most, a.Pool.Max} {
		if n != nil {
			scale.Max = *n
		}
	}
	return scale, true
}

// Member returns the configuration of one member of a pool. number counts from 1. It has the keys
// of the pool, and a name that does not depend on how many members there are.
func (a *Agent) Member(number int) Agent {
	member := *a
	member.Name = fmt.Sprintf("%s-%d", a.Name, number)
	return member
}

// sizeKey returns the position of a pool's min or max. It is in [agents.pool], or the other key
// with the same meaning.
func (a *Agent) sizeKey(key string) Origin {
	if a.Pool.Has(key) {
		return a.Pool.Origin(key)
	}
	return a.Origin(key + "_active_sessions")
}

// pool checks the keys that make the agent a pool.
func (c *checker) pool(a *Agent) {
	for key, former := range map[string]string{"min": "min_active_sessions", "max": "max_active_sessions", "check": "scale_check"} {
		if a.Pool.Has(key) && a.Has(former) {
			c.fail(a.Origin(former), fmt.Sprintf("write one of them; the other one is at %s", a.Pool.Origin(key)),
				"%s and %s in [agents.pool] are the same key", former, key)
		}
	}
	scale, ok := a.Scale()
	hasMax := a.Pool.Has("max") || a.Has("max_active_sessions")
	switch {
	case !ok:
	case a.Lifecycle == OneShot:
		c.fail(a.Origin("lifecycle"), "remove the pool, or lifecycle", "a one_shot command ends by itself and cannot be a pool")
	case !hasMax:
		at := a.Header()
		if a.Has("pool") {
			at = a.Origin("pool")
		}
		c.fail(at, "add max = 3, or another largest number of members", "the pool %q has no max", a.QualifiedName())
	case scale.Max == 0:
		c.fail(a.sizeKey("max"), "write suspended = true to keep the agent from running", "a pool cannot have at most 0 members")
	case scale.Max > maxMembers:
		c.fail(a.sizeKey("max"), "", "a pool has at most %d members, not %d", maxMembers, scale.Max)
	case scale.Min > scale.Max:
		c.fail(a.sizeKey("min"), "", "min (%d) is more than max (%d)", scale.Min, scale.Max)
	}
}

// members checks that no agent has the name of a pool's member.
func (c *checker) members() {
	owners := map[string]*Agent{}
	for i := range c.city.Agents {
		owners[c.city.Agents[i].QualifiedName()] = &c.city.Agents[i]
	}
	for i := range c.city.Agents {
		a := &c.city.Agents[i]
		scale, ok := a.Scale()
		if !ok || scale.Max > maxMembers {
			continue
		}
		for number := range scale.Max {
			member := a.Member(number + 1)
			name := member.QualifiedName()
			if other := owners[name]; other != nil && a.Name != "" {
				c.fail(other.Origin("name"), fmt.Sprintf("rename one; the pool %s at %s has the members %s-1 to %s-%d",
					a.QualifiedName(), a.Origin("name"), a.Name, a.Name, scale.Max), "the agent %q is also a member of a pool", name)
				break
			}
		}
	}
}

// context checks the [agents.context] section of an agent.
func (c *checker) context(x *Context) {
	c.positive(x.Keys, "within", int64(x.Within))
	for name, at := range map[string]int{"warn_at": x.WarnAt, "compact_at": x.CompactAt, "handoff_at": x.HandoffAt} {
		if x.Has(name) && (at < 1 || at > 100) {
			c.fail(x.Origin(name), "write a number from 1 to 100", "%s is %d, which is not a percentage", name, at)
		}
	}
	if x.Has("warn_at") && x.Has("compact_at") && x.WarnAt > x.CompactAt {
		c.fail(x.Origin("warn_at"), "write a number that is less than compact_at", "warn_at is %d, more than compact_at", x.WarnAt)
	}
}

// pending checks the [agents.pending] section of an agent.
func (c *checker) pending(a *Agent) {
	p := &a.Pending
	c.positive(p.Keys, "after", int64(p.After))
	switch {
	case p.Policy == PendingAnswer && p.Answer == "":
		c.fail(p.Origin("policy"), `add answer = "..."`, "the policy is answer, but no answer is set")
	case p.Policy != PendingAnswer && p.Has("answer"):
		c.fail(p.Origin("answer"), `add policy = "answer"`, "an answer has no effect without the policy answer")
	case p.Policy == PendingWait && p.Has("after"):
		c.fail(p.Origin("after"), "write policy = deny, answer or escalate", "with the policy wait, gc waits forever, so after = %s has no effect", p.After)
	}
}
