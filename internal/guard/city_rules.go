package guard

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/worker"
)

// CitySource contains the input of [CompileCity]. All fields except Home are required.
type CitySource struct {
	City   *config.City
	Agents []Request                    // the name, role and directories of each agent
	Home   string                       // home directory of unknown agents
	Read   func(string) ([]byte, error) // reads a file of rules
}

// CityRules are the compiled rules of a configuration. They do not change.
type CityRules struct {
	policy *Policy
	on     bool               // the city has a [guard] section; without one everything is allowed
	agents map[string]Request // by name
	home   string
	asking time.Duration
	regime Regime
}

// CompileCity checks and compiles the rules of a configuration. An error in the rules is a
// [config.Errors] with positions.
func CompileCity(src CitySource) (*CityRules, error) {
	sheet, err := sheetOf(src)
	if err != nil {
		return nil, err
	}
	policy, err := Compile(sheet)
	if err != nil {
		return nil, faultsOf(src, sheet, err)
	}
	r := &CityRules{policy: policy, on: src.City.Guarded(), agents: map[string]Request{}, home: src.Home, asking: src.City.Guard.AskTimeout}
	r.regime = Regime{On: r.on, Lenient: src.City.Guard.Unguarded == config.UnguardedReport, OnBypass: Bypass(src.City.Guard.OnBypass)}
	for _, a := range src.Agents {
		r.agents[a.Agent] = a
	}
	return r, nil
}

// Policy returns the compiled policy.
func (r *CityRules) Policy() *Policy { return r.policy }

// Guarded reports whether the city has a guard. Without one everything is allowed.
func (r *CityRules) Guarded() bool { return r.on }

// AskTimeout returns how long a person may take to allow a call.
func (r *CityRules) AskTimeout() time.Duration { return r.asking }

// Count returns the number of rules that are not disabled.
func (r *CityRules) Count() int {
	sheet, count := r.policy.Source(), 0
	for _, set := range allSets(sheet) {
		for _, rule := range set.Rules {
			if !sheet.Disabled(rule.ID) {
				count++
			}
		}
	}
	return count
}

// Agents returns the names of the known agents.
func (r *CityRules) Agents() []string { return slices.Sorted(maps.Keys(r.agents)) }

// Request returns a request with the known properties of an agent. For an agent that is not
// configured any more it has only the name, the role and the home directory, and known is false.
func (r *CityRules) Request(agent string) (req Request, known bool) {
	if req, ok := r.agents[agent]; ok {
		return req, true
	}
	return Request{Agent: agent, Role: path.Base(agent), Home: r.home}, false
}

// AgentRequest is like [CityRules.Request], but an agent that is not configured is an error that
// matches [client.ErrNotFound].
func (r *CityRules) AgentRequest(agent string) (Request, error) {
	req, known := r.Request(agent)
	if !known {
		return req, fmt.Errorf("%w: no agent is called %q; %s", client.ErrNotFound, agent, config.Suggest(agent, slices.Values(r.Agents())))
	}
	return req, nil
}

// decide returns the call c of an agent as a request and the verdict on it. The directory that the
// agent reports counts in addition to the configured one; of the two verdicts, the more severe
// applies.
func (r *CityRules) decide(agent string, c worker.Call) (Request, Verdict) {
	req := r.requestOf(agent, c)
	return req, r.policy.Decide(req)
}

// requestOf converts the tool call c of an agent to a request, with what the city knows about the
// agent.
func (r *CityRules) requestOf(agent string, c worker.Call) Request {
	req, _ := r.Request(agent)
	req.Tool, req.Input = c.Tool, c.Input
	if now := c.Context["cwd"]; path.IsAbs(now) {
		req.Now = path.Clean(now)
	}
	return req
}

// readers returns the tools that only read and that an agent may use while the guard cannot decide.
// A call is excepted if its input contains one of the texts in except.
func (r *CityRules) readers(agent string) (tools, except []string) {
	req, _ := r.Request(agent)
	return r.policy.Readers(req)
}

// isReadOnly reports whether a call only reads, so that it may be made while decisions cannot be
// recorded. A call for which the agent CLI asks a person does not count.
func (r *CityRules) isReadOnly(agent string, c worker.Call) bool {
	tools, except := r.readers(agent)
	return !c.Ask && worker.Allowance{Tools: tools, Except: except}.Allows(c)
}

// sheetOf returns the guard rules of a city's configuration in the form that [Compile] needs.
func sheetOf(src CitySource) (Source, error) {
	city, g := src.City, &src.City.Guard
	b := sheetBuilder{city: city, read: src.Read}
	sheet := Source{Default: Action(g.Default), Disable: g.Disable, Sets: b.sets(g.Keys, g.RuleSources)}
	if len(g.Rules) > 0 {
		own := Set{Name: city.Path}
		for i := range g.Rules {
			own.Rules = append(own.Rules, ownRule(&g.Rules[i]))
		}
		sheet.Sets = append(sheet.Sets, own)
	}
	for _, pattern := range g.Patterns() {
		role := g.Roles[pattern]
		sheet.Roles = append(sheet.Roles, RoleSource{Role: pattern, Default: Action(role.Default), Sets: b.sets(role.Keys, role.RuleSources)})
	}
	return sheet, config.Join(b.faults)
}

// ownRule converts a [[guard.rules]] section to a rule.
func ownRule(r *config.GuardRule) Rule {
	return Rule{
		ID: r.ID, Action: Action(r.Action), Reason: r.Reason, Tools: r.Tools, Roles: r.Roles, Agents: r.Agents,
		Commands: r.Commands, Any: r.Any, All: r.All, None: r.None, Exact: r.Exact, Paths: r.Paths, Access: Access(r.Access), Line: r.Header().Line,
	}
}

// sheetBuilder reads the sets that a configuration names.
type sheetBuilder struct {
	city   *config.City
	read   func(string) ([]byte, error)
	faults []*config.Error
}

// sets returns the built-in sets and the sets in files.
func (b *sheetBuilder) sets(keys config.Keys, from config.RuleSources) []Set {
	var sets []Set
	for i, name := range from.Sets {
		set, err := ShippedSet(name)
		if err != nil {
			b.faults = append(b.faults, b.city.ErrorAt(keys.ItemOrigin("sets", i), "%v", err))
			continue
		}
		sets = append(sets, set)
	}
	for i, file := range from.Files {
		path := b.city.Abs(file)
		data, err := b.read(path)
		if err != nil {
			b.faults = append(b.faults, b.city.ErrorAt(keys.ItemOrigin("files", i), "the rules cannot be read: %v", err))
			continue
		}
		set, err := Decode(path, data)
		if err != nil {
			b.faults = append(b.faults, fileFault(path, data, err))
			continue
		}
		set.File = path
		sets = append(sets, set)
	}
	return sets
}

// fileFault returns an error in a file of rules, with its position and a hint.
func fileFault(path string, data []byte, err error) *config.Error {
	fault, ok := errors.AsType[*FileError](err)
	if !ok {
		return &config.Error{File: path, Message: err.Error()}
	}
	e := config.ErrorIn(path, data, fault.Line, fault.Column)
	e.Message = fault.Fault
	if fault.Unknown != "" {
		e.Hint = config.Suggest(fault.Unknown, slices.Values(Keys()))
	}
	return e
}

// faultsOf returns the errors in err, from [Compile], with their positions in city.toml or in the
// file of rules.
func faultsOf(src CitySource, sheet Source, err error) error {
	city := src.City
	var faults []*config.Error
	for _, each := range unjoined(err) {
		if unknown, ok := errors.AsType[*DisableError](each); ok {
			i := slices.Index(city.Guard.Disable, unknown.ID)
			e := city.ErrorAt(city.Guard.ItemOrigin("disable", i), "%v", unknown)
			e.Hint = config.Suggest(unknown.ID, maps.Keys(ruleIDs(sheet)))
			faults = append(faults, e)
			continue
		}
		fault, ok := errors.AsType[*RuleError](each)
		if !ok {
			faults = append(faults, city.ErrorAt(city.Guard.Header(), "%v", each))
			continue
		}
		faults = append(faults, ruleFault(src, sheet, fault))
	}
	return config.Join(faults)
}

// ruleFault returns the error in one rule with its position in city.toml or in its file.
func ruleFault(src CitySource, sheet Source, fault *RuleError) *config.Error {
	city := src.City
	message := fmt.Sprintf("rule %q: %s", fault.Rule, fault.Fault)
	if fault.Set == city.Path {
		for i := range city.Guard.Rules {
			if r := &city.Guard.Rules[i]; r.Header().Line == fault.Line {
				return city.ErrorAt(r.Header(), "%s", message)
			}
		}
	}
	for _, set := range allSets(sheet) {
		if set.Name != fault.Set || set.File == "" {
			continue
		}
		data, err := src.Read(set.File)
		if err != nil {
			data = nil
		}
		e := config.ErrorIn(set.File, data, fault.Line, 1)
		e.Message = message
		return e
	}
	return city.ErrorAt(city.Guard.Header(), "%v", fault)
}

// unjoined returns the errors of a joined error.
func unjoined(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return many.Unwrap()
	}
	return []error{err}
}

// allSets returns the sets for all agents and those of all roles.
func allSets(sheet Source) []Set {
	sets := slices.Clone(sheet.Sets)
	for _, r := range sheet.Roles {
		sets = append(sets, r.Sets...)
	}
	return sets
}

// ruleIDs returns the ids of all rules.
func ruleIDs(sheet Source) map[string]bool {
	ids := map[string]bool{}
	for _, set := range allSets(sheet) {
		for _, r := range set.Rules {
			ids[r.ID] = true
		}
	}
	return ids
}

// ListRuleFiles returns the absolute paths of the rule files that a configuration names.
func ListRuleFiles(city *config.City) []string {
	files := slices.Clone(city.Guard.Files)
	for _, pattern := range city.Guard.Patterns() {
		files = append(files, city.Guard.Roles[pattern].Files...)
	}
	for i, f := range files {
		files[i] = city.Abs(f)
	}
	return slices.DeleteFunc(files, func(f string) bool { return strings.TrimSpace(f) == "" })
}
