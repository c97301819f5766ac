package bridge

import (
	"path/filepath"
	"strings"
	"testing"

	"gascity/internal/acp"
)

// TestFinishedCallsAreNotStored: a long turn with many calls needs no memory for the outputs of those that are over.
func TestFinishedCallsAreNotStored(t *testing.T) {
	r := newRecorder(filepath.Join(t.TempDir(), "record"))
	defer r.close()
	for _, status := range []string{"in_progress", acp.ToolCompleted, acp.ToolCompleted} {
		r.tool(acp.ToolCall{ID: "1", Title: "make", Status: status, RawInput: []byte(`{"command":"make"}`), Texts: []string{strings.Repeat("x", 1000)}})
	}
	if c := r.calls["1"]; c == nil || !c.over || c.output != nil || c.RawInput != nil || c.Texts != nil {
		t.Errorf("of a call that is over is stored %+v", c)
	}
}
