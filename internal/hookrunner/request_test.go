package hookrunner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/hookrunner"
	"gascity/worker"
)

// beforeModel is an input of gemini 0.61.0 to its hook BeforeModel, recorded while its model answered 529. With each attempt only
// the time changes. Requests after tool calls without text are the same, too.
func beforeModel(transcript, time, text string) string {
	return `{"session_id":"8a887dd6-8c6f-4251-a7e9-1fcb9cf7298d","transcript_path":"` + transcript + `","cwd":"/tmp/work","hook_event_name":"BeforeModel","timestamp":"2026-11-28T` + time + `Z",` +
		`"llm_request":{"model":"gemini-2.5-flash","messages":[{"role":"user","content":"<session_context>\nThis is the Gemini CLI.\n</session_context>` + text + `"}],"config":{"temperature":1,"topP":0.95,"topK":64}}}`
}

// TestARepeatedRequestIsReported checks that a request is reported as repeated if the agent CLI sends it again and nothing has
// happened in between, and never in a turn that goes on.
func TestARepeatedRequestIsReported(t *testing.T) {
	t.Parallel()
	other := func(event string) string {
		return `{"session_id":"s1","hook_event_name":"` + event + `","prompt":"Retry this"}`
	}
	for _, c := range []struct {
		what   string
		inputs []string // "answer" writes to the transcript
		want   []int    // attempts
	}{
		{"two attempts fail", []string{"00:16:16.932", "00:16:21.468", "00:16:32.731"}, []int{2, 3}},
		{"a tool was used", []string{"00:16:16.932", "AfterTool", "00:16:17.100"}, nil},
		{"a call of an unknown tool, for which no hook is called", []string{"00:16:16.932", "answer", "00:16:17.100"}, nil},
		{"the same prompt again", []string{"00:16:16.932", "AfterAgent", "BeforeAgent", "00:16:17.100"}, nil},
		{"the second request of a turn fails", []string{"00:16:16.932", "AfterTool", "00:16:17.100", "00:16:22.000"}, []int{2}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			transcript := filepath.Join(dir, "session.jsonl")
			if err := os.WriteFile(transcript, []byte("{}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, in := range c.inputs {
				switch {
				case in == "answer":
					if err := os.WriteFile(transcript, []byte("{}\n{}\n"), 0o600); err != nil {
						t.Fatal(err)
					}
					continue
				case strings.Contains(in, ":"):
					in = beforeModel(transcript, in, "Retry this")
				default:
					in = other(in)
				}
				for _, e := range runHooks(t, "gemini", map[string]string{hookrunner.VariableFolder: dir}, in).events {
					if e.Type == worker.Failure && e.Message == "the request to the model failed; gemini does not report why" && e.Retry != nil {
						got = append(got, e.Retry.Attempt)
					}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("attempts: %s", diff)
			}
		})
	}
}

// TestARequestIsKeptWithoutItsText checks what the hook keeps of a request.
func TestARequestIsKeptWithoutItsText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runHooks(t, "gemini", map[string]string{hookrunner.VariableFolder: dir}, beforeModel("", "00:16:16.932", "a secret"))
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("the hook kept %v (%v)", files, err)
	}
	path := filepath.Join(dir, files[0].Name())
	text, err := os.ReadFile(path)
	if err != nil || len(text) > 200 || strings.Contains(string(text), "secret") {
		t.Errorf("the hook kept %d bytes: %s (%v)", len(text), text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v (%v)", info.Mode(), err)
	}
}
