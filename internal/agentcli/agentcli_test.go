package agentcli

import "testing"

func TestBuiltinLoads(t *testing.T) {
	set, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(set.Names())
}
