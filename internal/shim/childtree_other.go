//go:build !linux

package shim

import "gascity/internal/proc"

// isSubreaper reports whether orphaned descendants become children of this process. It is true on Linux only.
const isSubreaper = false

func becomeSubreaper() error { return nil }

// empty reports whether no process of the tree is left. It returns false if that is unknown.
func (t *childTree) empty() bool {
	members, err := t.members()
	return err == nil && len(members) == 0
}

// addDetached adds members that are not descendants of this process: orphans become children of process 1 here. They are found
// by the instance token in their environment.
func (t *childTree) addDetached(members []proc.Info) ([]proc.Info, error) {
	t.mu.Lock()
	token := t.token
	t.mu.Unlock()
	marked, err := proc.FindByEnv(proc.TokenKey, token)
	if err != nil {
		return members, err
	}
	known := map[int]bool{t.self.PID: true}
	for _, m := range members {
		known[m.PID] = true
	}
	for _, m := range marked {
		if !known[m.PID] && !m.Ended() {
			members = append(members, m.Info)
		}
	}
	return members, nil
}
