package screen

import (
	"strings"
	"testing"
	"time"

	"gascity/runtime"
)

func TestParseUntil(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err) // no time zones on this machine
	}
	at := time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"3pm":                         time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC),
		"3:45 PM":                     time.Date(2026, 11, 21, 15, 45, 0, 0, time.UTC),
		"2pm":                         time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC),
		"12am":                        time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC),
		"16:05":                       time.Date(2026, 11, 21, 16, 5, 0, 0, time.UTC),
		"5pm (Europe/Berlin)":         time.Date(2026, 11, 21, 17, 0, 0, 0, berlin),
		"Nov 24 at 9am":               time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC),
		"Jan 2, 9am (UTC)":            time.Date(2027, 1, 2, 9, 0, 0, 0, time.UTC),
		"2 hours":                     at.Add(2 * time.Hour),
		"1h 30m":                      at.Add(90 * time.Minute),
		"45 minutes":                  at.Add(45 * time.Minute),
		"3 days":                      at.Add(72 * time.Hour),
		"2026-11-21T16:00:00Z":        time.Date(2026, 11, 21, 16, 0, 0, 0, time.UTC),
		"2026-11-21T16:00:00+02:00":   time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC),
		"2026-11-22 16:00":            time.Date(2026, 11, 22, 16, 0, 0, 0, time.UTC),
		"soon":                        {},
		"":                            {},
		"25:99":                       {},
		"13pm":                        {},
		"3":                           {},
		"99999999999999999999 hours":  {},
		"when the moon is full again": {},
	} {
		if got := parseUntil(text, at); !got.Equal(want) {
			t.Errorf("parseUntil(%q) = %s, want %s", text, got, want)
		}
	}
	if got := parseUntil("3pm", time.Time{}); !got.IsZero() {
		t.Errorf("without a time to count from it is %s, want zero", got)
	}
}

func FuzzParseUntil(f *testing.F) {
	for _, seed := range []string{"3pm", "Nov 24 at 9am (UTC)", "1h 30m", "2026-11-21T16:00:00Z"} {
		f.Add(seed)
	}
	at := time.Date(2026, 2, 28, 23, 59, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		got := parseUntil(text, at)
		if !got.IsZero() && !got.After(at) && !isoTime().MatchString(text) && monthDay().FindString(text) == "" {
			t.Errorf("%q is over at %s", text, got)
		}
	})
}

func TestSenseLimits(t *testing.T) {
	rule := strings.Repeat("─", 60)
	screen := func(above ...string) []string {
		return append(append([]string{"❯ do it", ""}, above...), "", rule, "❯ ", rule, "  ? for shortcuts")
	}
	now := time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC)
	three := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		profile string
		rows    []string
		want    runtime.Activity
		until   time.Time
	}{
		"with a time":             {"claude", screen("● You've hit your limit · resets 3pm"), runtime.ActivityLimited, three},
		"without":                 {"claude", screen("● You’ve hit your limit"), runtime.ActivityLimited, time.Time{}},
		"older words":             {"claude", screen("Claude usage limit reached. Resets at 3pm."), runtime.ActivityLimited, three},
		"trying again":            {"claude", screen("✻ 5-hour limit reached · retrying in 4s (11:36am)"), runtime.ActivityBusy, time.Time{}},
		"overcome":                {"claude", screen("● You've hit your limit · resets 3pm", "", "❯ again", "", "● done"), runtime.ActivityIdle, time.Time{}},
		"long ago":                {"claude", screen("● You've hit your limit", "a", "b", "c", "d"), runtime.ActivityIdle, time.Time{}},
		"codex":                   {"codex", []string{"■ You've hit your usage limit. Upgrade, or try again in 2 hours.", "", "› ", "", "  m · ~/work"}, runtime.ActivityLimited, now.Add(2 * time.Hour)},
		"any program":             {"generic", []string{"Error: rate limit exceeded, try again in 10 minutes", "> "}, runtime.ActivityLimited, now.Add(10 * time.Minute)},
		"a prompt about it":       {"claude", screen("❯ You've hit your limit · resets 3pm", "", "● done"), runtime.ActivityIdle, time.Time{}},
		"a line of a prompt":      {"claude", screen("❯ What does it mean:", "  You've hit your limit · resets 3pm", "", "● done"), runtime.ActivityIdle, time.Time{}},
		"a paragraph of a prompt": {"claude", screen("❯ What does it mean:", "", "  You've hit your limit · resets 3pm", "", "● done"), runtime.ActivityIdle, time.Time{}},
		"an indented limit":       {"claude", screen("❯ What does it mean:", "  ⎿  You've hit your limit · resets 3pm"), runtime.ActivityLimited, three},
		"a prompt to codex":       {"codex", []string{"› Error: You've hit your usage limit. Try again in 2 hours.", "", "• done", "", "› ", "", "  m · ~/work"}, runtime.ActivityIdle, time.Time{}},
		"a prompt to gemini":      {"gemini", []string{" > The log says:", "   ✕ quota exceeded, try again in 2 hours", "", "✦ done", "", " > ", "", " m"}, runtime.ActivityIdle, time.Time{}},
		"talk about limits":       {"claude", screen("● The function checks whether the limit is reached"), runtime.ActivityIdle, time.Time{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := Frame{Seq: 1, Rows: test.rows, LastOutput: now}
			f.Title = map[string]string{"codex": "work", "gemini": "◇  Ready (work)"}[test.profile]
			got := Sense(f, profileRules(t, test.profile), now)
			e := got.Evidence[len(got.Evidence)-1]
			if e.Activity != test.want || !e.Until.Equal(test.until) {
				t.Errorf("%+v, want %s until %s", e, test.want, test.until)
			}
			if !test.until.IsZero() && !got.Again.Equal(test.until) {
				t.Errorf("to be read again at %s, want %s", got.Again, test.until)
			}
		})
	}
}

func TestLimitInTheLastWords(t *testing.T) {
	at := time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC)
	text := "❯ do it\n\n● You've hit your limit · resets 3pm\n\n\n$ \n"
	until, line, ok := LimitIn(text, profileRules(t, "claude"), at)
	if !ok || !until.Equal(at.Add(30*time.Minute)) || !strings.Contains(line, "hit your limit") {
		t.Errorf("%s, %q, %v", until, line, ok)
	}
	if e := Last(text, profileRules(t, "claude"), at); e == nil || e.Activity != runtime.ActivityLimited || e.Until.IsZero() {
		t.Errorf("%+v", e)
	}
	if _, _, ok := LimitIn("panic: nil\n"+strings.Repeat("x\n", 3), profileRules(t, "claude"), at); ok {
		t.Error("a crash is no limit")
	}
}
