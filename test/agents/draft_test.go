package agents

import (
	"strings"
	"testing"

	"gascity/test/agents/bed"
)

// TestAnAgentSpeaksTheDraft is TestAgentsSpeakACP in the draft of version 2, with an agent that
// knows it.
func TestAnAgentSpeaksTheDraft(t *testing.T) {
	together(t)
	for _, name := range driven("claude-agent-acp") {
		t.Run(name, func(t *testing.T) {
			together(t)
			program, err := bed.Program()
			if err != nil {
				t.Fatal(err)
			}
			s := openSpeakerVersion(t, "2", program, name)
			recordOnFailure(t, s.found, "delivery", "questions", "interrupt", "resume", "stop")
			if page, err := s.Peek("one", 60); err != nil || !strings.Contains(page, "by the draft of version 2") {
				t.Errorf("what is spoken with it is another version: %v\n%s", err, page)
			}
			s.deliver(t, "a", "Say it. [[text:I say it]]")
			s.rest(t)
			long := "Count these. " + strings.Repeat("0123456789 abcdefghi ", 5000) + "[[text:many]]"
			s.deliver(t, "b", long)
			s.rest(t)
			if said := textsOf(s.model.Prompts(name)); len(said) != 2 || said[1] != long {
				t.Errorf("the model got %d prompts", len(said))
			}
			logFigure(t, s.found, "delivery", "a prompt of 24 B and one of %d KiB arrived once and unchanged", len(long)>>10)
			s.permit(t)
			s.cancelTurn(t)
			s.again(t, nil, "f")
			s.closed(t)
		})
	}
}
