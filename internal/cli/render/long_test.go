package render

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// usage returns what a program prints that does not know a flag.
func usage() string {
	return "usage: agent [flags]\n" + strings.Repeat("  --flag  does this and that\n", 62) + "error: unknown flag --frobnicate\n"
}

// unwrapped returns a page as one line.
func unwrapped(page string) string { return strings.Join(strings.Fields(page), " ") }

// TestALongFailureStandsInFullOnce: everywhere else a person reads one line, with
// the cause.
func TestALongFailureStandsInFullOnce(t *testing.T) {
	s := Formatter{Now: noon, Columns: 100}
	reason := "session died during startup: agent exit code 2; it printed:\n" + usage()
	const cause = "agent exit code 2, saying: error: unknown flag --frobnicate"
	agent := client.Agent{Name: "a", Desired: "running", State: "failed", Reason: reason, Exit: "exit code 2", NextAt: noon.Add(time.Minute)}
	status := s.Status(client.Status{City: "x", Agents: []client.Agent{agent}}, nil, nil)
	if !strings.Contains(unwrapped(status), cause) || strings.Count(status, "\n") > 6 {
		t.Errorf("the status is\n%s", status)
	}
	explained := client.Explanation{
		Agent: agent, Decision: "wait", Reason: reason, NextAt: agent.NextAt, Output: reason, LastScreen: usage(),
		Facts:  []client.Fact{{What: "last failure", Value: reason}, {What: "conversation", Value: strings.Repeat("long ", 999)}},
		Recent: []client.Event{{Kind: "session.start_failed", Text: "the start failed: " + reason}},
	}
	brief := s.Explanation(explained)
	if n := strings.Count(brief, "\n"); n > 10 || !strings.Contains(unwrapped(brief), "problem "+"session died during startup: "+cause) || !strings.Contains(brief, "gc restart a\n") {
		t.Errorf("the brief explanation has %d lines:\n%s", n, brief)
	}
	s.Verbose = true
	got := s.Explanation(explained)
	if n := strings.Count(got, "--flag  does this"); n != 62 || !strings.Contains(unwrapped(got), "waits (back-off): session died during startup: "+cause) {
		t.Errorf("the explanation has %d of 62 lines of the output:\n%s", n, got)
	}
	for line := range strings.Lines(got) {
		if n := textfmt.Width(line); n > factWidth+40 {
			t.Errorf("a line of the explanation has %d columns: %s", n, line)
		}
	}
	explained.Warnings = []string{"one\ntwo\nthree", "session_setup: " + reason}
	if got := s.Explanation(explained); strings.Count(got, "--flag  does this") != 62 || !strings.Contains(got, "two\n") {
		t.Errorf("the warnings are\n%s", got)
	}
	explained.Agent.State = client.StateRunning
	if got := s.Explanation(explained); strings.Count(got, "--flag  does this") > linesShown {
		t.Errorf("what was cured is printed at length:\n%s", got)
	}
	known := client.Session{Agent: agent, LastScreen: usage()}
	if got := s.Session(known); strings.Contains(got, "--flag") || !strings.Contains(unwrapped(got), cause) {
		t.Errorf("the session repeats its last screen:\n%s", got)
	}
	known.LastScreen = ""
	if got := s.Session(known); strings.Count(got, "--flag  does this") != 62 {
		t.Errorf("the session has lost the output:\n%s", got)
	}
}

func TestWhatWasReportedAgainIsNotReportedOnceMore(t *testing.T) {
	p := client.Pending{
		ID: "q1", State: client.PendingOpen, Policy: "escalate", Options: []string{"Yes"},
		Deadline: noon.Add(-8 * time.Minute), Escalated: noon.Add(-8 * time.Minute),
	}
	got := Formatter{Now: noon}.Pending([]client.Pending{p})
	if !strings.Contains(got, "reminder sent 8m ago") || strings.Contains(got, "in a moment") {
		t.Errorf("the question is\n%s", got)
	}
}

func TestPeopleReadWords(t *testing.T) {
	s := Formatter{Now: noon}
	page := s.Queue([]client.Receipt{{ID: "p1", State: client.ReceiptQueued, Reason: "human_typing: a person typed 2s ago"}}) +
		s.Receipt(client.Receipt{ID: "p2", Reason: "draft_present: it holds 3 characters", Steps: []client.ReceiptStep{{State: "queued", Detail: "dialog_up: unknown-menu: no rule knows it"}}}) +
		s.Explanation(client.Explanation{Agent: client.Agent{Name: "a", State: "running", Activity: client.Activity{State: "waiting", Detail: "a dialog is on the screen: unknown-menu"}}})
	for _, word := range []string{"human_typing", "draft_present", "dialog_up", "unknown-menu"} {
		if strings.Contains(page, word) {
			t.Errorf("people read %q:\n%s", word, page)
		}
	}
}

func TestAWatchedStatusKeepsItsHeadAndItsAlerts(t *testing.T) {
	status := client.Status{City: "town", Root: "/town"}
	for i := range 40 {
		status.Agents = append(status.Agents, client.Agent{Name: fmt.Sprintf("agent-%02d", i), Desired: "running", State: "failed", Reason: strings.Repeat("why ", 15), Pending: 1})
	}
	for _, rows := range []int{12, 23, 24} {
		got := Formatter{Now: noon, Columns: 80, Rows: rows}.Status(status, nil, nil)
		if n := textfmt.Rows(got, 80); n > rows || n < rows-3 {
			t.Errorf("the picture has %d rows, may have %d", n, rows)
		}
		shown := strings.Count(got, "agent-")
		if more := fmt.Sprintf("… %d more\n", 40-shown); !strings.HasPrefix(got, "town") || shown == 0 || !strings.Contains(got, more) || !strings.Contains(got, "40 questions wait") {
			t.Errorf("in %d rows the picture is\n%s", rows, got)
		}
	}
	if got := (Formatter{Now: noon, Columns: 80, Rows: 200}).Status(status, nil, nil); strings.Contains(got, "… ") {
		t.Errorf("a large window leaves something out:\n%s", got)
	}
}
