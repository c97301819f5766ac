package driver

import (
	"time"

	"gascity/runtime"
)

// Forwarder implements the methods of runtime.Provider that concern one session, by those of the provider that has the session.
// A provider of providers embeds it, and defines the other methods itself.
type Forwarder struct {
	// Call calls do with the provider that has the session, and returns its error. If no provider has the session, the error
	// matches [runtime.ErrSessionNotFound] and names the operation op.
	Call func(op, name string, do func(runtime.Provider) error) error
}

// callIfThere is Call for an operation that succeeds without a session.
func (f Forwarder) callIfThere(op, name string, do func(runtime.Provider) error) error {
	err := f.Call(op, name, do)
	if runtime.IsSessionGone(err) {
		return nil
	}
	return err
}

// check returns the answer of ask; false if the provider cannot be asked.
func (f Forwarder) check(name string, ask func(runtime.Provider) bool) bool {
	yes := false
	err := f.Call("inspect", name, func(p runtime.Provider) error {
		yes = ask(p)
		return nil
	})
	return yes && err == nil
}

// Interrupt implements runtime.Runner.
func (f Forwarder) Interrupt(name string) error {
	return f.callIfThere("interrupt", name, func(p runtime.Provider) error { return p.Interrupt(name) })
}

// IsRunning implements runtime.Inspector.
func (f Forwarder) IsRunning(name string) bool {
	return f.check(name, func(p runtime.Provider) bool { return p.IsRunning(name) })
}

// IsAttached implements runtime.Inspector.
func (f Forwarder) IsAttached(name string) bool {
	return f.check(name, func(p runtime.Provider) bool { return p.IsAttached(name) })
}

// ProcessAlive implements runtime.Inspector.
func (f Forwarder) ProcessAlive(name string, processNames []string) bool {
	if len(processNames) == 0 {
		return true // no check is possible
	}
	return f.check(name, func(p runtime.Provider) bool { return p.ProcessAlive(name, processNames) })
}

// GetLastActivity implements runtime.Inspector.
func (f Forwarder) GetLastActivity(name string) (last time.Time, err error) {
	err = f.callIfThere("inspect", name, func(p runtime.Provider) (err error) {
		last, err = p.GetLastActivity(name)
		return err
	})
	return last, err
}

// Attach implements runtime.Input.
func (f Forwarder) Attach(name string) error {
	return f.Call("attach to", name, func(p runtime.Provider) error { return p.Attach(name) })
}

// Nudge implements runtime.Input.
func (f Forwarder) Nudge(name string, content []runtime.ContentBlock) error {
	if len(content) == 0 {
		return nil
	}
	return f.Call("nudge", name, func(p runtime.Provider) error { return p.Nudge(name, content) })
}

// SendKeys implements runtime.Input.
func (f Forwarder) SendKeys(name string, keys ...string) error {
	return f.callIfThere("send keys to", name, func(p runtime.Provider) error { return p.SendKeys(name, keys...) })
}

// Peek implements runtime.Output.
func (f Forwarder) Peek(name string, lines int) (text string, err error) {
	err = f.Call("peek at", name, func(p runtime.Provider) (err error) {
		text, err = p.Peek(name, lines)
		return err
	})
	return text, err
}

// ClearScrollback implements runtime.Output.
func (f Forwarder) ClearScrollback(name string) error {
	return f.callIfThere("clear the scrollback of", name, func(p runtime.Provider) error { return p.ClearScrollback(name) })
}

// SetMeta implements runtime.MetaStore.
func (f Forwarder) SetMeta(name, key, value string) error {
	return f.Call("set metadata of", name, func(p runtime.Provider) error { return p.SetMeta(name, key, value) })
}

// GetMeta implements runtime.MetaStore.
func (f Forwarder) GetMeta(name, key string) (value string, err error) {
	err = f.Call("read metadata of", name, func(p runtime.Provider) (err error) {
		value, err = p.GetMeta(name, key)
		return err
	})
	return value, err
}

// RemoveMeta implements runtime.MetaStore.
func (f Forwarder) RemoveMeta(name, key string) error {
	return f.Call("remove metadata of", name, func(p runtime.Provider) error { return p.RemoveMeta(name, key) })
}

// CopyTo implements runtime.Stager.
func (f Forwarder) CopyTo(name, src, relDst string) error {
	return f.callIfThere("copy to", name, func(p runtime.Provider) error { return p.CopyTo(name, src, relDst) })
}

// RunLive implements runtime.Stager.
func (f Forwarder) RunLive(name string, cfg runtime.Config) error {
	return f.Call("apply session_live to", name, func(p runtime.Provider) error { return p.RunLive(name, cfg) })
}
