package agentcli

import (
	"slices"
	"testing"
)

// TestEveryProfileSaysHowItAsks checks that each profile whose agent CLI uses tools without asking
// by default names the mode or the environment in which it asks, or says that there is none.
func TestEveryProfileSaysHowItAsks(t *testing.T) {
	for _, name := range Builtin().Names() {
		p, _ := Builtin().Lookup(name)
		if !p.SkipsPermissions("", nil) {
			continue
		}
		if p.AskingMode == "" && len(p.AskingEnv) == 0 && !p.NeverAsks {
			t.Errorf("%s skips permission questions, and no mode is known in which it asks", name)
		}
		if !p.NeverAsks && p.SkipsPermissions(p.AskingMode, p.AskingEnv) {
			t.Errorf("%s skips permission questions also in the mode %q with %v", name, p.AskingMode, p.AskingEnv)
		}
		if slices.Contains(p.RefusedAsRoot, p.AskingMode) {
			t.Errorf("%s does not start as root in the mode in which it asks", name)
		}
	}
}

// TestTheAskingModeOfClaudeSuitsBothVersions checks the name of claude's asking mode that both
// 2.1.197 and 2.1.329 accept: the older one refuses "manual".
func TestTheAskingModeOfClaudeSuitsBothVersions(t *testing.T) {
	p, _ := Builtin().Lookup("claude")
	argv, err := p.Argv("manual")
	if err != nil || !slices.Contains(argv, "default") || slices.Contains(argv, "manual") {
		t.Errorf("manual starts %q, %v", argv, err)
	}
}

func TestTestedVersions(t *testing.T) {
	p := Profile{Tested: []string{"2.1.197", "2.1.329"}}
	for version, want := range map[string]bool{"": false, "2.1.196": false, "2.1.197": true, "2.1.200": true, "2.1.329": true, "2.1.330": false} {
		if got := p.TestedVersion(version); got != want {
			t.Errorf("%q is tested: %v, want %v", version, got, want)
		}
	}
	if got := (Profile{}).TestedVersion("1.0"); got {
		t.Error("a version of an agent CLI that was never tested counts as tested")
	}
}
