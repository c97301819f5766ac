package servicetest

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/service/prompts"
)

// PromptOptions returns the options of an engine of prompts for a city that holds no prompts back, types none and gives no agent a
// file.
func PromptOptions(store prompt.Store, city prompts.City, events event.Log) prompts.Options {
	return prompts.Options{
		Store: store, City: city, Events: events, Logger: slog.New(slog.DiscardHandler), Now: time.Now, NewID: rand.Text,
		PromptHold: func(session.Snapshot) string { return "" },
		Opens:      func(session.Snapshot) bool { return false },
		Typed:      func(session.Snapshot) (why string, forGood bool) { return "", false },
		Progress:   func() time.Duration { return prompt.DefaultProgress },
		Texts:      noFiles{},
		Probed:     func(string) {},
		Changed:    func(string) {},
	}
}

// noFiles gives no agent a file.
type noFiles struct{}

func (noFiles) Write(session.Snapshot, string, string) (string, error) {
	return "", errors.New("no agent is given a file")
}
func (noFiles) Remove(string, string) error        { return nil }
func (noFiles) RemoveExcept(map[string]bool) error { return nil }
