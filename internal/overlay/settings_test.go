package overlay_test

import (
	"slices"
	"strings"
	"testing"

	overlays "gascity/internal/overlay"
)

const (
	userJSON = "{\n    \"zebra\": 1,\n    \"model\": \"small\",\n    \"hooks\": {\n        \"Stop\": [ {\"matcher\": \"mine\"} ]\n    }\n}\n"
	ourJSON  = `{"model": "big", "hooks": {"Stop": [{"matcher": "ours"}], "Start": [{"hooks": []}]}}`
)

func TestSettingsAreMerged(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{".claude/settings.json": ourJSON, ".codex/hooks.json": ourJSON, "new": "x"})
	work := plant(t, t.TempDir(), map[string]string{".claude/settings.json": userJSON})
	report := run(t, overlays.Request{WorkDir: work, OverlayDir: overlay})
	if !slices.Equal(report.Merged, []string{".claude/settings.json", ".codex/hooks.json"}) || len(report.Warnings) != 1 {
		t.Errorf("merged %v, warnings %q", report.Merged, report.Warnings)
	}
	got := tree(t, work)[".claude/settings.json"]
	if !strings.HasPrefix(got, "{\n    \"zebra\": 1,\n    \"model\": \"small\",\n") || !strings.Contains(got, `"ours"`) || !strings.Contains(got, `{"matcher": "mine"}`) {
		t.Errorf("the settings are:\n%s", got)
	}
}

func TestUpgradeOfSettingsReplacesOurEntriesOnly(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{".claude/settings.json": `{"hooks":{"Stop":["v1"],"Old":["v1"]},"a":{"x":1}}`})
	work := plant(t, t.TempDir(), map[string]string{".claude/settings.json": userJSON})
	req := overlays.Request{WorkDir: work, OverlayDir: overlay}
	run(t, req)
	plant(t, overlay, map[string]string{".claude/settings.json": `{"hooks":{"Stop":["v2"]}}`})
	run(t, req)
	got := tree(t, work)[".claude/settings.json"]
	if strings.Contains(got, "v1") || strings.Contains(got, `"a"`) || strings.Contains(got, "Old") || strings.Count(got, "v2") != 1 {
		t.Errorf("the settings are:\n%s", got)
	}
}

func TestEntriesThatGotLostComeBack(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{".claude/settings.json": ourJSON})
	work := plant(t, t.TempDir(), map[string]string{".claude/settings.json": userJSON})
	req := overlays.Request{WorkDir: work, OverlayDir: overlay}
	run(t, req)
	plant(t, work, map[string]string{".claude/settings.json": userJSON}) // a stale copy is saved over it
	if report := run(t, req); !slices.Equal(report.Merged, []string{".claude/settings.json"}) {
		t.Errorf("merged %v", report.Merged)
	}
}

func TestBrokenSettingsOfTheUserAreLeftAlone(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{".claude/settings.json": ourJSON, "after": "x"})
	for _, broken := range []string{"// comment\n{}", "{", "[1]", ""} {
		work := plant(t, t.TempDir(), map[string]string{".claude/settings.json": broken})
		report := run(t, overlays.Request{WorkDir: work, OverlayDir: overlay})
		if got := tree(t, work); got[".claude/settings.json"] != broken || got["after"] != "x" {
			t.Errorf("%q became %v", broken, got)
		}
		if len(report.Warnings) != 1 || !slices.Equal(report.Kept, []string{".claude/settings.json"}) {
			t.Errorf("%q: %+v", broken, report)
		}
	}
}

func TestBrokenSettingsOfTheOverlayAreAnError(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{".claude/settings.json": "{"})
	if _, err := overlays.Stage(t.Context(), overlays.Request{WorkDir: t.TempDir(), OverlayDir: overlay}); err == nil || !strings.Contains(err.Error(), overlay) {
		t.Errorf("got %v", err)
	}
}

func TestSettingsOfLayersAreMergedTheLaterWins(t *testing.T) {
	pack := plant(t, t.TempDir(), map[string]string{".claude/settings.json": `{"model":"pack","a":1,"l":["p"]}`})
	own := plant(t, t.TempDir(), map[string]string{"per-provider/claude/.claude/settings.json": `{"model":"own","b":2,"l":["o"]}`})
	work := t.TempDir()
	run(t, overlays.Request{WorkDir: work, PackOverlayDirs: []string{pack}, OverlayDir: own, Slots: []string{"claude"}})
	got := strings.Join(strings.Fields(tree(t, work)[".claude/settings.json"]), "")
	if got != `{"model":"own","b":2,"l":["o","p"],"a":1}` {
		t.Errorf("the settings are %s", got)
	}
}

// TestRepeatedKeysOfTheOverlayAreTakenBack: of a repeated key only the last member is added, so an upgrade removes all of it.
func TestRepeatedKeysOfTheOverlayAreTakenBack(t *testing.T) {
	overlay := plant(t, t.TempDir(), map[string]string{".claude/settings.json": `{"hooks":{"Stop":["v1"],"Stop":["v1"]}}`})
	work := plant(t, t.TempDir(), map[string]string{".claude/settings.json": "{}"})
	req := overlays.Request{WorkDir: work, OverlayDir: overlay}
	run(t, req)
	plant(t, overlay, map[string]string{".claude/settings.json": `{"a":1}`})
	run(t, req)
	got := strings.Join(strings.Fields(tree(t, work)[".claude/settings.json"]), "")
	if got != `{"a":1}` {
		t.Errorf("the settings are %s", got)
	}
}
