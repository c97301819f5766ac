package workers

import (
	"slices"
	"testing"

	"gascity/client"
	"gascity/worker"
)

// TestBothAPIsHaveTheSamePrompts compares what the two public packages define for a prompt: neither
// imports the other.
func TestBothAPIsHaveTheSamePrompts(t *testing.T) {
	if worker.MaxPrompt != client.MaxPrompt {
		t.Errorf("a prompt has at most %d bytes in package worker and %d in package client", worker.MaxPrompt, client.MaxPrompt)
	}
	if words := []string{string(worker.System), string(worker.Urgent), string(worker.Normal)}; !slices.Equal(words, client.Priorities()) {
		t.Errorf("the priorities are %v in package worker and %v in package client", words, client.Priorities())
	}
	if string(worker.Submitted) != client.ReceiptSubmitted || string(worker.Consumed) != client.ReceiptConsumed {
		t.Error("the states that a sender can wait for differ")
	}
}
