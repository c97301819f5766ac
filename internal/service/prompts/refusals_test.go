package prompts_test

import (
	"testing"

	"gascity/client"
	"gascity/runtime"
)

// TestRefusalsEqualThoseOfDrivers: the reasons in package client equal those in package runtime.
func TestRefusalsEqualThoseOfDrivers(t *testing.T) {
	for word, reason := range map[string]runtime.RefusalReason{
		client.RefusalTyping: runtime.RefusedTyping, client.RefusalDraft: runtime.RefusedDraft, client.RefusalDialog: runtime.RefusedDialog,
		client.RefusalBusy: runtime.RefusedBusy, client.RefusalUnready: runtime.RefusedUnready,
	} {
		if word != string(reason) {
			t.Errorf("the client says %q of what a driver calls %q", word, reason)
		}
	}
}
