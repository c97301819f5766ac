package cityservice

import (
	"cmp"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// channel returns by which channel prompts reach an agent now: its worker, the agent CLI's own
// channel, or typing. It returns nil if the agent does not run or is not configured.
func (e *Engines) channel(a client.Agent) *client.Channel {
	if a.State != client.StateRunning {
		return nil
	}
	s := e.Desired(a.Name)
	if s.Agent == "" {
		return nil // it is not configured any more
	}
	return channelOf(s, e.Workers.Listens(a.Session))
}

// Typed returns why the prompts of a session are typed now, or an empty string if they are not
// typed. forGood is true if the configuration requires it.
func (e *Engines) Typed(v session.Snapshot) (why string, forGood bool) {
	s := e.Desired(v.Agent)
	if c := channelOf(s, e.Workers.Listens(v.Session)); c.Way == client.ChannelTyped {
		return c.Reason, s.Typed != ""
	}
	return "", false
}

// channelOf returns by which channel prompts reach a running agent. listens is true if a worker is
// connected. That counts more than the configuration, because a changed configuration takes effect
// only at the next start.
func channelOf(s plan.Session, listens bool) *client.Channel {
	family := s.Config.Env[agentcli.HooksVariable]
	native := agentcli.NativeChannel(family)
	switch {
	case s.Protocol:
		return &client.Channel{Way: client.ChannelACP}
	case s.ByWorker, listens && native == "":
		return &client.Channel{Way: client.ChannelWorker}
	case listens:
		return &client.Channel{Way: client.ChannelNative, By: native}
	case s.Typed != "":
		return &client.Channel{Way: client.ChannelTyped, Reason: s.Typed}
	}
	return &client.Channel{Way: client.ChannelTyped, Reason: cmp.Or(native, "its native channel") + " is not connected: it did not start (see gc peek), or the agent was started before it was set up (gc restart " + s.Agent + ")"}
}
