//go:build !linux

package bed

// Left is unknown here: known is false.
func Left(string) (left []string, known bool) { return nil, false }
