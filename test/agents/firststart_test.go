package agents

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/bed"
)

// TestFirstStartInAnEmptyHome starts a CLI that has never run on a machine with a network: its
// set-up dialogs come up, and the agent takes its first prompt without a person.
func TestFirstStartInAnEmptyHome(t *testing.T) {
	together(t)
	for _, name := range driven("claude") {
		t.Run(name, func(t *testing.T) {
			together(t)
			c := bed.Open(t, "pty", bed.Member{Name: "new", CLI: name, Seeds: bed.Unused, TOML: "permission_mode = \"manual\"\n"})
			a := of(t, c, "new")
			a.ready()
			a.primed()
			s, err := c.Client.Session(t.Context(), "new")
			if err != nil || s.Restarts > 0 || s.Warning != "" {
				t.Errorf("%s was started again %d times, with the warning %q: %v", name, s.Restarts, s.Warning, err)
			}
			closed(a)
		})
	}
}

// TestFirstStartIsAnsweredByAPerson starts the same CLI with its dialogs left to a person: each
// is listed with its options, and the command that gc pending proposes, with the option that
// lets the agent go on where a person has to choose, is accepted.
func TestFirstStartIsAnsweredByAPerson(t *testing.T) {
	together(t)
	for _, name := range driven("claude") {
		t.Run(name, func(t *testing.T) {
			together(t)
			c := bed.Open(t, "pty", bed.Member{
				Name: "new", CLI: name, Seeds: bed.Unused, Bare: true,
				TOML: "permission_mode = \"manual\"\naccept_startup_dialogs = false\n",
			})
			var seen []string
			for deadline := time.Now().Add(bed.StepTimeout); time.Now().Before(deadline); {
				asked := nextQuestion(t, c, "new", deadline)
				if asked == nil {
					break
				}
				t.Logf("asked (suggested %q):\n%s\n%q", asked.Suggested, asked.Prompt, asked.Options)
				if len(asked.Options) == 0 {
					t.Fatalf("a question has no options that can be read: %+v", asked)
				}
				answer := asked.Suggested
				if answer == "" {
					answer = proceedOption(asked.Options)
				}
				if out, err := c.Run(t.Context(), "respond", asked.ID, answer); err != nil {
					of(t, c, "new").fail("gc respond %s %q: %v\n%s", asked.ID, answer, err, out)
				}
				seen = append(seen, answer)
			}
			if len(seen) < 4 {
				t.Errorf("answered %q, want theme, API key, security notes and trust", seen)
			}
			s, err := c.Client.Session(t.Context(), "new")
			if err != nil || s.State != client.StateRunning || s.Restarts > 0 {
				t.Errorf("after the answers %s is %s with %d restarts: %v", name, s.State, s.Restarts, err)
			}
		})
	}
}

// nextQuestion waits for a question; nil once the agent rests at its input box.
func nextQuestion(t *testing.T, c *bed.City, agent string, deadline time.Time) *client.Pending {
	t.Helper()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for time.Now().Before(deadline) {
		open, err := c.Client.Pending(t.Context(), agent, client.OnlyOpen)
		if err != nil {
			t.Fatal(err)
		}
		if len(open) > 0 {
			return &open[0]
		}
		s, err := c.Client.Session(t.Context(), agent)
		if err != nil {
			t.Fatal(err)
		}
		if s.State != client.StateRunning && s.State != client.StateStarting || slices.Contains([]string{"idle", "ready"}, s.Activity.State) {
			return nil
		}
		<-ticker.C
	}
	t.Fatalf("%s neither asks nor rests", agent)
	return nil
}

// proceedOption returns the option that a person who wants the agent to run chooses.
func proceedOption(options []string) string {
	if i := slices.IndexFunc(options, func(o string) bool { return strings.HasPrefix(o, "Yes") }); i >= 0 {
		return options[i]
	}
	return options[0]
}
