// Package hookrunner connects the hooks of an agent CLI with its city: [Run] is what a hook calls,
// and [WrapProvider] installs the hooks for an agent. Data about each agent CLI is in
// internal/agentcli.
//
// A hook is a process for one event. It uses the worker API with the token of the run, which is in
// the agent's environment. It has no stream: prompts go through the terminal, and its reports are
// evidence with the source hook. A hook that decides about a tool exits with status 2 and a reason
// if anything fails, because every other status would let the tool run. A hook that only reports
// never blocks the agent and exits with 0.
package hookrunner
