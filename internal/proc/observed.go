package proc

import "sync"

// ObservedProcesses records a process of each session that runs, to find out later whether a session without files may still run.
// The zero value is ready to use. It is safe for concurrent use.
type ObservedProcesses struct{ bySession sync.Map }

// Record stores a process of the session.
func (o *ObservedProcesses) Record(session string, id ID) { o.bySession.Store(session, id) }

// MayRun reports whether the process that was recorded last for the session is alive, or may be. It returns false if none was
// recorded.
func (o *ObservedProcesses) MayRun(session string) bool {
	id, recorded := o.bySession.Load(session)
	if !recorded {
		return false
	}
	alive, err := Alive(id.(ID)) //nolint:forcetypeassert // only Record stores values
	return alive || err != nil
}
