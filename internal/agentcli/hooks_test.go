package agentcli

import (
	"slices"
	"testing"
)

func TestHookNamesAreThoseOfTheTable(t *testing.T) {
	var names []string
	for _, c := range hookTable() {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	if got := HookNames(); !slices.Equal(got, names) {
		t.Fatalf("HookNames() is %q; the table has %q", got, names)
	}
}
