package cityservice

import (
	"cmp"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/agentcli/hooks"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

// channel returns how prompts reach an agent now; nil: it does not run, or its
// configuration is not known.
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

// Typed returns why the prompts of a session are typed now; empty: they are not. forGood: that is so
// by its configuration.
func (e *Engines) Typed(v session.Snapshot) (why string, forGood bool) {
	s := e.Desired(v.Agent)
	if c := channelOf(s, e.Workers.Listens(v.Session)); c.Way == client.ChannelTyped {
		return c.Reason, s.Typed != ""
	}
	return "", false
}

// channelOf returns how prompts reach a running agent, by its configuration and by whether a
// program reads its messages. What is connected is believed: a changed configuration takes effect
// with the next start only.
func channelOf(s plan.Session, listens bool) *client.Channel {
	family := s.Config.Env[hooks.Variable]
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
	return &client.Channel{Way: client.ChannelTyped, Reason: cmp.Or(native, "its native channel") + " is not connected: it did not start (see gc peek), or the agent runs since before it was set up (gc restart " + s.Agent + ")"}
}
