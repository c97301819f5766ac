package cityservice

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/guard"
	"gascity/internal/service/questions"
	"gascity/worker"
)

// Pending returns the open questions. For a question about a tool call it adds what the call does
// according to the guard's rules. It implements controlapi.Questions.
func (f Service) Pending(ctx context.Context, target string, which client.Which) ([]client.Pending, error) {
	list, err := f.opts.Engines.Questions.Pending(ctx, target, which)
	for i := range list {
		list[i].Guard = f.reading(&list[i])
	}
	return list, err
}

// Respond answers an open question. It implements controlapi.Questions.
func (f Service) Respond(ctx context.Context, id string, req client.RespondRequest) (client.Pending, error) {
	return f.opts.Engines.Questions.Respond(ctx, id, req)
}

// AllowAlways adds to city.toml the rule that allows the tool call of an open question from now on,
// and answers the question. It implements controlapi.Questions.
func (f Service) AllowAlways(ctx context.Context, id string, req client.AlwaysRequest) (client.Pending, error) {
	p, err := f.opts.Engines.Questions.Question(ctx, id)
	if err != nil {
		return client.Pending{}, err
	}
	if p.State != client.PendingOpen {
		return client.Pending{}, fmt.Errorf("%w: the question %s has ended: it is %s; no rule was written", client.ErrRefused, id, p.State)
	}
	reading := f.reading(&p)
	switch {
	case reading == nil:
		return client.Pending{}, fmt.Errorf("%w: the question %s is not about a tool call, so there is no rule for it; answer it with: gc respond %s", client.ErrRefused, id, id)
	case reading.Always == nil:
		return client.Pending{}, fmt.Errorf("%w: no rule can allow this call always: %s; allow it once with: gc respond %s 1", client.ErrRefused, reading.NoAlways, id)
	case reading.Always.ID != req.Rule:
		return client.Pending{}, fmt.Errorf("%w: the question %s has another rule now (%s); show it again with: gc pending", client.ErrRefused, id, reading.Always.ID)
	}
	if err := f.opts.Editor.AddSection(ctx, reading.Always.Text); err != nil {
		return client.Pending{}, err
	}
	if _, err := f.activate(ctx); err != nil {
		return client.Pending{}, err
	}
	answered, err := f.Respond(ctx, id, client.RespondRequest{Option: "1", By: req.By})
	if err != nil {
		return answered, fmt.Errorf("the rule %s was added to city.toml and is active, but the question was not answered: %w", req.Rule, err)
	}
	return answered, nil
}

// reading returns what the tool call of an open question does, and how the guard's rules decide
// about it; nil if the question is about no tool call.
func (f Service) reading(p *client.Pending) *client.GuardReading {
	call, ok := f.opts.Engines.Questions.ToolCall(p.ID)
	rules := f.opts.Guard.Rules()
	if !ok || rules == nil || p.State != client.PendingOpen {
		return nil
	}
	asked := worker.Call{Tool: call.Tool, Input: inputOf(call)}
	if asked.Input == nil {
		return nil
	}
	if call.Dir != "" {
		asked.Context = map[string]string{"cwd": call.Dir}
	}
	verdict, parts := rules.Explain(p.Agent, asked)
	out := &client.GuardReading{Action: string(verdict.Action), Rule: verdict.Rule, Reason: reasonOf(verdict, rules.Guarded(), call), Does: []string{}, Parts: []client.GuardEffect{}}
	for _, part := range parts {
		text := partText(part, call.Tool)
		if text == "" {
			continue
		}
		one := client.GuardEffect{Text: text, Action: string(part.Action), Rule: part.Rule}
		if part.Incidental || !rules.Guarded() {
			one.Action, one.Rule = "", ""
		}
		out.Does, out.Parts = append(out.Does, text), append(out.Parts, one)
	}
	if len(parts) == 0 {
		out.Does = []string{"uses the tool " + call.Tool}
	}
	out.Always, out.NoAlways = f.always(rules, p.Agent, call, asked)
	return out
}

// inputOf returns the input of a tool call as a JSON object. If a terminal shows the input of a
// shell tool as plain text, that text is the command. It returns nil if it is not known what the
// text means.
func inputOf(call questions.ToolCall) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(call.Input), &object) == nil && object != nil {
		return json.RawMessage(call.Input)
	}
	tool := strings.ToLower(call.Tool)
	if call.Guard || !strings.Contains(tool, "bash") && !strings.Contains(tool, "shell") && !strings.Contains(tool, "command") && !strings.Contains(tool, "exec") {
		return nil
	}
	text, err := json.Marshal(map[string]string{"command": call.Input})
	if err != nil {
		return nil
	}
	return text
}

// partText returns for people what one part of a tool call does, such as "reads /etc/passwd"; empty
// if it does nothing.
func partText(part guard.PartVerdict, tool string) string {
	if part.Part == "" {
		return ""
	}
	what := "runs " + part.Part
	if part.File {
		what = cmp.Or(map[guard.Access]string{guard.Read: "reads ", guard.Write: "writes "}[part.Access], fileVerb(tool)) + part.Part
	}
	if len(part.Via) > 0 {
		what += ", by " + strings.Join(part.Via, " and ")
	}
	return what
}

// fileVerb returns what a tool with this name probably does with a file: "reads ", "writes " or
// "uses ".
func fileVerb(tool string) string {
	name := strings.ToLower(tool)
	for _, verb := range []struct{ part, verb string }{{"write", "writes "}, {"edit", "writes "}, {"patch", "writes "}, {"read", "reads "}, {"glob", "reads "}, {"grep", "reads "}} {
		if strings.Contains(name, verb.part) {
			return verb.verb
		}
	}
	return "uses "
}

// reasonOf returns the guard's decision about a tool call as a sentence for people.
func reasonOf(v guard.Verdict, guarded bool, call questions.ToolCall) string {
	if !guarded {
		return "city.toml has no [guard], so no rule decides about this call."
	}
	subject, why := cmp.Or(v.Part, "this call"), ""
	if v.Reason != "" {
		why = ": " + strings.TrimSuffix(v.Reason, ".")
	}
	verb := map[guard.Action]string{guard.Allow: "allows", guard.Ask: "asks about", guard.Deny: "denies"}[v.Action]
	switch {
	case v.Rule != "":
		return fmt.Sprintf("The rule %s %s %s%s.", v.Rule, verb, subject, why)
	case v.Action == guard.Allow && call.Guard:
		return "No rule decides about this call. gc asks because the agent's own settings say so."
	case v.Action == guard.Allow:
		return "No rule decides about this call, so gc allows it. The question comes from the agent itself."
	}
	return fmt.Sprintf("No rule decides about %s: without a rule the answer is %s.", subject, v.Action)
}

// always returns the rule that would allow this tool call of the agent from now on. If there can be
// none, it returns nil and the reason.
func (f Service) always(rules *guard.CityRules, agent string, call questions.ToolCall, asked worker.Call) (*client.GuardRule, string) {
	if !call.Guard {
		return nil, "the agent asks in its own dialog, which no rule of gc answers"
	}
	rule, err := rules.AlwaysAllow(agent, asked)
	if err != nil {
		return nil, err.Error()
	}
	text := ruleText(rule)
	if f.opts.Conceal(text) != text {
		return nil, "the call contains a credential, which must not be in city.toml"
	}
	return &client.GuardRule{ID: rule.ID, Agent: agent, Tool: call.Tool, Exact: rule.Exact[0], Action: string(rule.Action), File: client.CityFile, Text: text}, ""
}

// ruleText returns a rule as a section of city.toml.
func ruleText(r guard.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[[guard.rules]]\nid = %s\naction = %s\nreason = %s\n", config.QuoteTOML(r.ID), config.QuoteTOML(string(r.Action)), config.QuoteTOML(r.Reason))
	fmt.Fprintf(&b, "agents = [%s]\ntools = [%s]\nexact = [%s]\n", config.QuoteTOML(r.Agents[0]), config.QuoteTOML(r.Tools[0]), config.QuoteTOML(r.Exact[0]))
	return b.String()
}
