package plan_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"gascity/internal/domain/plan"
	"gascity/worker"
)

// TestSections checks, for random parts of a context, that each type of section comes once, that
// none is longer than its mode allows, and that a section that was cut says so and is the beginning
// of the whole.
func TestSections(t *testing.T) {
	limits := map[worker.ContextMode]int{worker.FullContext: plan.MaxFullContext, worker.CompactContext: plan.MaxCompactContext, worker.ResumeContext: plan.MaxResumeContext}
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			return strings.Repeat(rapid.SampledFrom([]string{"", "word ", "a line\n", "é", "\xff"}).Draw(t, name), rapid.SampledFrom([]int{1, 100, 5000, 40000}).Draw(t, name+" times"))
		}
		p := plan.ContextParts{Agent: "a", Identity: text("identity"), Role: text("role"), Task: text("task")}
		mode := rapid.SampledFrom([]worker.ContextMode{worker.FullContext, worker.CompactContext, worker.ResumeContext}).Draw(t, "mode")
		whole := map[string]string{"identity": p.Identity, "role": p.Role, "directive": p.Task}
		var seen []string
		for _, s := range p.Sections(mode) {
			if slices.Contains(seen, s.Type) || len(s.Content) > limits[mode] || s.Content == "" {
				t.Fatalf("section %s of %d bytes after %v", s.Type, len(s.Content), seen)
			}
			seen = append(seen, s.Type)
			from, ok := whole[s.Type]
			if !ok {
				continue
			}
			head, _, cut := strings.Cut(s.Content, "\n\n[cut here: ")
			if !strings.HasPrefix(from, head) || utf8.ValidString(from) != utf8.ValidString(head) && utf8.ValidString(from) {
				t.Fatalf("section %s is not the beginning of what it is of", s.Type)
			}
			if long := len(strings.TrimRight(from, "\n")) > limits[mode]; long != cut {
				t.Fatalf("section %s of %d bytes: cut %v", s.Type, len(from), cut)
			}
		}
	})
}

// TestModes checks the text of the context in each mode.
func TestModes(t *testing.T) {
	p := plan.ContextParts{Agent: "crew/one", Identity: "[town] crew/one", Role: "You repair.\n", Task: "Look at the mail."}
	want := map[string]string{
		"":        "[town] crew/one\n\nYou repair.\n\nLook at the mail.",
		"full":    "[town] crew/one\n\nYou repair.\n\nLook at the mail.",
		"compact": "[town] crew/one\n\nYou repair.\n\nLook at the mail.\n\nThis conversation was compacted. What you printed before: gc logs crew/one. The prompts that wait for you: gc queue crew/one.",
		"resume":  "[town] crew/one\n\nYou repair.\n\nThis conversation was resumed. What you printed before: gc logs crew/one. The prompts that wait for you: gc queue crew/one.",
	}
	for word, text := range want {
		mode, err := plan.ParseContextMode(word)
		if got := plan.ContextText(p.Sections(mode)); err != nil || got != text {
			t.Errorf("%q gives %q, %v; want %q", word, got, err, text)
		}
	}
	if mode, err := plan.ParseContextMode("whole"); err == nil {
		t.Errorf("whole is %q", mode)
	}
	bare := plan.ContextParts{Agent: "one", Identity: "[town] one"}
	if full, compact := bare.Sections(worker.FullContext), bare.Sections(worker.CompactContext); len(full) != 1 || compact != nil {
		t.Errorf("one without a role receives %v, and after a compaction %v", full, compact)
	}
}
