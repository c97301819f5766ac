//go:build !linux

package bed

// LeftProcesses is unknown here: known is false.
func LeftProcesses(string) (left []string, known bool) { return nil, false }
