//go:build !linux

package shim

import "gascity/internal/proc"

// becomeSubreaper does nothing: only Linux has it.
func becomeSubreaper() error { return nil }

// strays adds members that detached themselves: orphans go to process 1 here, and
// are known by the instance token in their environment.
func (t *tree) strays(members []proc.Info) ([]proc.Info, error) {
	marked, err := proc.FindByEnv("GC_INSTANCE_TOKEN", t.token)
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
