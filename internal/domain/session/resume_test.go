package session

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLadder checks what the starts after a failed resume try, for each reason: resume again,
// resume in the directory of the conversation, or begin a new conversation.
func TestLadder(t *testing.T) {
	tests := []struct {
		failure ResumeFailure
		want    string
	}{
		{ResumeInUse, "resume resume fresh"},
		{ResumeNotFound, "resume repair fresh"},
		{ResumeWrongDir, "resume repair fresh"},
		{ResumeOther, "resume repair fresh"},
		{ResumeExpired, "resume fresh fresh"},
	}
	for _, tt := range tests {
		c := Conversation{ID: "c"}
		rungs := []string{string(Ladder(c, ""))}
		for range 2 {
			c.RecordFailure(tt.failure)
			rungs = append(rungs, string(Ladder(c, tt.failure)))
		}
		if got := strings.Join(rungs, " "); got != tt.want {
			t.Errorf("while it is %s the rungs are %s, want %s", tt.failure, got, tt.want)
		}
	}
	if got := Ladder(Conversation{}, ""); got != RungFresh {
		t.Errorf("without a conversation the rung is %s, want fresh", got)
	}
	c := Conversation{ID: "c", Rungs: 2}
	if c.MarkReached(); Ladder(c, "") != RungResume {
		t.Errorf("a conversation that was reached is brought back by %s, want resume", Ladder(c, ""))
	}
}

// TestResumesAreBounded checks, for random failures, that a conversation is resumed only a limited
// number of times, and never again after a new conversation was chosen.
func TestResumesAreBounded(t *testing.T) {
	failures := rapid.SampledFrom([]ResumeFailure{ResumeInUse, ResumeNotFound, ResumeWrongDir, ResumeExpired, ResumeOther})
	rapid.Check(t, func(rt *rapid.T) {
		c := Conversation{ID: "c"}
		var failure ResumeFailure
		resumes, fresh := 0, false
		for range 10 {
			switch Ladder(c, failure) {
			case RungFresh:
				fresh = true
			default:
				resumes++
			}
			if fresh && Ladder(c, failure) != RungFresh || resumes > 2 {
				rt.Fatalf("resumed %d times, fresh before %v", resumes, fresh)
			}
			failure = failures.Draw(rt, "failure")
			c.RecordFailure(failure)
			if rapid.Bool().Draw(rt, "the controller restarts") {
				failure = ""
			}
		}
		if !fresh {
			rt.Fatal("it was never started afresh")
		}
	})
}

// TestAnIDFromAnErrorIsNeverKept checks that an ID that is empty or malformed is not stored as the ID of a conversation.
func TestAnIDFromAnErrorIsNeverKept(t *testing.T) {
	kept := Conversation{ID: "old", Dir: "/w", Mode: "auto", Rungs: 1, At: at(0)}
	for name, l := range map[string]ReportedConversation{
		"empty":     {},
		"words":     {ID: "not found"},
		"a flag":    {ID: "--resume"},
		"control":   {ID: "a\x1b[0m"},
		"no text":   {ID: "a\xff"},
		"very long": {ID: strings.Repeat("a", 257)},
	} {
		c := kept
		if c.Update(l) || c != kept {
			t.Errorf("%s: %q was kept", name, l.ID)
		}
	}
	c := kept
	if want := (Conversation{ID: "new", Dir: "/v", Mode: "ask", At: at(5), Begun: true}); !c.Update(ReportedConversation{ID: "new", Dir: "/v", Mode: "ask", At: at(5)}) || c != want {
		t.Errorf("the conversation is %+v, want %+v", c, want)
	}
}

// TestReportedConversationKeepsOtherFields checks that the report of a conversation's ID does not
// change what is known about the previous conversation, and that a repeated report changes nothing.
func TestReportedConversationKeepsOtherFields(t *testing.T) {
	former := &Abandoned{ID: "old", Failure: ResumeUnable}
	c := Conversation{Begun: true, Rung: RungFresh, Former: former, Dir: "/w"}
	l := ReportedConversation{ID: "new", Dir: "/w", At: at(1)}
	if !c.Update(l) || c.Former != former || !c.Begun || c.Rung != RungFresh {
		t.Errorf("after the first word: %+v", c)
	}
	if l.At = at(2); c.Update(l) || !c.At.Equal(at(1)) {
		t.Errorf("the same again is news: %+v", c)
	}
	if l.Mode = "careful"; !c.Update(l) || c.Mode != "careful" || c.Former != former {
		t.Errorf("after a change of mode: %+v", c)
	}
	c.Closed, l.ID = true, "cleared"
	if !c.Update(l) || !c.Closed || c.Former != nil {
		t.Errorf("in another conversation: %+v", c)
	}
}
