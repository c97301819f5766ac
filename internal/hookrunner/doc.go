// Package hookrunner is the mechanism between the hooks of an agent CLI and its city:
// what a hook calls ([Run]), and what makes an agent call it ([WrapProvider]). What is peculiar
// to one agent CLI is data in internal/agentcli/hooks.
//
// A hook is a process for one event. It speaks the worker API with the run's token,
// which it has from the agent's environment, and has no stream: prompts go on by the
// place, and its reports are evidence of the source hook. One that decides about a
// tool ends with status 2 and a reason whenever anything is wrong; every other status
// would let the tool run. One that only reports never blocks the agent, and exits
// with 0.
package hookrunner
