package tui

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// Lines writes a line for each change of the city, without moving the cursor: for screen readers, and for terminals that cannot
// be drawn on. It returns when ctx ends.
func Lines(parent context.Context, city City, now func() time.Time, out io.Writer) error {
	ctx, cancel := context.WithCancel(parent)
	r := newRunner(ctx, Options{City: city, Now: now})
	defer r.work.Wait()
	defer cancel()
	for _, follow := range []func(context.Context){r.followStatus, r.followEvents} {
		r.work.Go(func() { follow(ctx) })
	}
	report := changes{model: r.model, shown: map[string]string{}, out: out}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.inbox.wake:
		}
		for _, msg := range r.inbox.take() {
			for _, effect := range r.model.Update(now(), msg) {
				r.do(effect)
			}
		}
		if err := report.write(); err != nil {
			return fmt.Errorf("cannot write to standard output: %w", err)
		}
	}
}

// changes writes what has changed in a model.
type changes struct {
	model *Model
	shown map[string]string // the last line of each subject
	out   io.Writer
}

// write writes a line for each subject whose line has changed.
func (c *changes) write() error {
	m := c.model
	lines := map[string]string{}
	var failed error
	add := func(subject, text string) {
		lines[subject] = text
		if c.shown[subject] != text && failed == nil {
			_, failed = fmt.Fprintf(c.out, "%s %s\n", m.now.Format("15:04:05"), textfmt.OneLine(text))
		}
	}
	if !m.link.away.IsZero() {
		add("controller", "controller away since "+m.link.away.Format("15:04:05"))
	} else if m.loaded {
		add("controller", "connected to "+m.city.City)
	}
	for i := range m.city.Agents {
		a := &m.city.Agents[i]
		condition := m.conditions[a.Name]
		text := a.Name + ": " + condition.word
		if condition.detail != "" {
			text += " (" + condition.detail + ")"
		}
		add("agent "+a.Name, text)
	}
	for i := range m.questions {
		add("question "+m.questions[i].ID, askedLine(&m.questions[i]))
	}
	for _, name := range slices.Sorted(maps.Keys(m.prompts)) {
		word, _ := deliveryOf(m.prompts[name].State)
		add("prompt "+name, "prompt for "+name+": "+word)
	}
	c.shown = lines
	return failed
}

// askedLine returns a question with its options as one line, and how to answer it.
func askedLine(q *client.Pending) string {
	var text strings.Builder
	text.WriteString(q.Agent + " asks: " + strings.Join(strings.Fields(questionText(q)), " "))
	for i, option := range q.Options {
		fmt.Fprintf(&text, " [%d] %s", i+1, option)
	}
	return text.String() + "; answer with: gc respond " + q.ID + " OPTION"
}
