package engine_test

import (
	"testing"

	"gascity/internal/service/engine"
)

func TestNewIDIsNotTaken(t *testing.T) {
	texts := []string{"ABCDEFGHIJ", "ABCDEFGHIJ", "KLMNOPQRST"}
	random := func() (text string) {
		text, texts = texts[0], texts[1:]
		return text
	}
	if id := engine.NewID("q-", random, func(id string) bool { return id == "q-abcdefgh" }); id != "q-klmnopqr" {
		t.Errorf("the ID is %q", id)
	}
}
