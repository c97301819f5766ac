package plan_test

import (
	"regexp"
	"testing"
	"time"

	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

var conversationStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// talker returns a session whose agent CLI accepts the ID of a new conversation and can resume it.
func talker() *plan.Session {
	s := &plan.Session{Config: runtime.Config{Command: "talk", WorkDir: "/w", PromptSuffix: "'begin'", Nudge: "hello"}}
	s.Resume = plan.Resume{Again: "talk --resume " + plan.ConversationMark, New: "talk --id " + plan.ConversationMark, Mode: "ask", Nudge: "go on"}
	return s
}

// TestChooseConversationAfterEachOutcome checks which conversation each start of an agent gets: a
// new one, the same one again after a failed start, or none to resume.
func TestChooseConversationAfterEachOutcome(t *testing.T) {
	s := talker()
	first := plan.ChooseConversation(s, session.Conversation{}, conversationStart)
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(first.ID) {
		t.Fatalf("the id %q is no UUID", first.ID)
	}
	if first.Dir != "/w" || first.Mode != "ask" || !first.At.Equal(conversationStart) || first.Rung != session.RungFresh {
		t.Errorf("the first conversation is %+v", first)
	}
	command := func(c session.Conversation) runtime.Config {
		t.Helper()
		cfg, ok := plan.ConversationConfig(s, c)
		if !ok {
			t.Fatalf("no start for %+v", c)
		}
		return cfg
	}
	if cfg := command(first); cfg.Command != "talk --id "+first.ID || cfg.PromptSuffix == "" {
		t.Errorf("the first start is %+v", cfg)
	}
	if again := plan.ChooseConversation(s, first, conversationStart); again.ID == first.ID || again.Former != nil {
		t.Errorf("a conversation that never began is continued: %+v", again)
	}
	first.Begun = true
	second := plan.ChooseConversation(s, first, conversationStart)
	if second.ID != first.ID || second.Rung != session.RungResume || command(second).Command != "talk --resume "+first.ID || command(second).PromptSuffix != "" {
		t.Errorf("the second start is %+v with %+v", second, command(second))
	}
	second.RecordFailure(session.ResumeNotFound)
	third := plan.ChooseConversation(s, second, conversationStart)
	s.Config.WorkDir = "/moved"
	if third.ID != first.ID || third.Rung != session.RungRepair || command(third).WorkDir != "/w" {
		t.Errorf("the third start is %+v in %s", third, command(third).WorkDir)
	}
	third.RecordFailure(session.ResumeNotFound)
	fresh := plan.ChooseConversation(s, third, conversationStart)
	if fresh.ID == first.ID || fresh.Former == nil || fresh.Former.ID != first.ID || fresh.Former.Failure != session.ResumeNotFound {
		t.Errorf("after the ladder the conversation is %+v", fresh)
	}
	if note := command(fresh).Nudge; !regexp.MustCompile("hello\n\n.*" + first.ID + ".*not found").MatchString(note) {
		t.Errorf("the hand-over is %q", note)
	}
}

// TestFailedNewConversationKeepsTheOldOne checks that an agent whose new conversation also fails to
// start resumes its old conversation later, unless that does not exist any more.
func TestFailedNewConversationKeepsTheOldOne(t *testing.T) {
	for failure, back := range map[session.ResumeFailure]bool{session.ResumeOther: true, session.ResumeNotFound: false} {
		s, c := talker(), session.Conversation{ID: "old", Begun: true}
		for range 2 {
			c = plan.ChooseConversation(s, c, conversationStart)
			c.RecordFailure(failure)
		}
		c = plan.ChooseConversation(s, c, conversationStart)
		if c.IsResumed() {
			t.Fatalf("%s: the third start is %+v", failure, c)
		}
		c.MarkNotBegun()
		if next := plan.ChooseConversation(s, c, conversationStart); (next.ID == "old") != back || !back && next.Former.ID != "old" {
			t.Errorf("%s: after a fresh start that failed the next is %+v", failure, next)
		}
	}
}

// TestAgentsThatDoNotResume checks which agents begin a new conversation although they have one.
func TestAgentsThatDoNotResume(t *testing.T) {
	begun := session.Conversation{ID: "old", Begun: true}
	tests := []struct {
		name   string
		change func(*plan.Session, *session.Conversation)
		id     bool
	}{
		{"wake_mode fresh", func(s *plan.Session, _ *session.Conversation) { s.Resume.Fresh = true }, true},
		{"a person began afresh", func(_ *plan.Session, c *session.Conversation) { c.Closed = true }, true},
		{"a command that runs once", func(s *plan.Session, _ *session.Conversation) { s.Config.Lifecycle = runtime.LifecycleOneShot }, true},
		{"one that cannot", func(s *plan.Session, _ *session.Conversation) { s.Resume.Again = "" }, true},
		{"one that knows no ids", func(s *plan.Session, _ *session.Conversation) { s.Resume = plan.Resume{} }, false},
	}
	for _, tt := range tests {
		s, c := talker(), begun
		tt.change(s, &c)
		next := plan.ChooseConversation(s, c, conversationStart)
		if next.IsResumed() || next.Former != nil || (next.ID != "") != tt.id {
			t.Errorf("%s: the next is %+v", tt.name, next)
		}
		if _, ok := plan.ConversationConfig(s, next); !ok {
			t.Errorf("%s: it cannot be started", tt.name)
		}
	}
}

// TestResumeFailureTexts checks by which texts of an agent CLI a failed resume is classified.
func TestResumeFailureTexts(t *testing.T) {
	c := &session.Conversation{ID: "7f0e-1", Rung: session.RungResume}
	exit := &runtime.Exit{Code: 1}
	for output, want := range map[string]session.ResumeFailure{
		"Error: Session ID 7f0e-1 is already in use.":             session.ResumeInUse,
		"Error: Session ID\n 7f0e-1 is already\nin use.":          session.ResumeInUse,
		"No conversation found with session ID: 7f0e-1":           session.ResumeNotFound,
		`error: session "7f0e-1" not found`:                       session.ResumeNotFound,
		"This conversation has expired":                           session.ResumeExpired,
		"it belongs to another directory":                         session.ResumeWrongDir,
		"segmentation fault":                                      session.ResumeOther,
		"":                                                        session.ResumeOther,
		"listen tcp 127.0.0.1:8443: bind: address already in use": session.ResumeOther,
		"open settings.json: file not found":                      session.ResumeOther,
		"Error: session ID 0000-9 is already in use, as reported by somebody else.": session.ResumeOther,
	} {
		if got := plan.FindResumeFailure(c, exit, output); got != want {
			t.Errorf("%q is %q, want %q", output, got, want)
		}
	}
	const gone = "No conversation found"
	for name, exit := range map[string]*runtime.Exit{
		"a missing program": {Code: 127}, "an exit with status 0": {}, "an exit that was not observed": nil,
	} {
		if got := plan.FindResumeFailure(c, exit, gone); got != "" {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got := plan.FindResumeFailure(c, &runtime.Exit{Code: -1, Signal: "killed"}, "no such words"); got != "" {
		t.Errorf("an agent that was killed failed to resume: %q", got)
	}
	if got := plan.FindResumeFailure(&session.Conversation{ID: "x", Rung: session.RungFresh}, exit, gone); got != "" {
		t.Errorf("a new conversation failed to resume: %q", got)
	}
}
