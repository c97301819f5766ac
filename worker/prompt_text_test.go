package worker_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"gascity/worker"
)

// TestAPromptGoesAsItIs: who directs workers sends a prompt in the words of the seed,
// with the wait beside it, and gets the city's refusal as its sentinel.
func TestAPromptGoesAsItIs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p worker.Prompt
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			t.Error(err)
		}
		if r.Method != http.MethodPost || r.URL.Path != "/prompt" || r.Header.Get("Authorization") != "Bearer owner" || r.URL.Query().Get("wait") != "consumed" {
			t.Errorf("got %s %s with wait %q", r.Method, r.URL, r.URL.Query().Get("wait"))
		}
		if p.RunID == "gone" {
			problem := worker.ProblemOf(worker.ErrFenced)
			w.WriteHeader(problem.Status)
			_ = json.NewEncoder(w).Encode(problem) // the test reads it
			return
		}
		if p.RunID != "run" || p.Content != "hello" || p.Priority != worker.Urgent {
			t.Errorf("got %+v", p)
		}
		_ = json.NewEncoder(w).Encode(worker.PromptAnswer{Accepted: true, ID: "p-1", State: "consumed"}) // as above
	}))
	defer server.Close()
	c := &worker.Client{URL: server.URL, Token: "owner"}
	defer c.Close()
	answer, err := c.Prompt(t.Context(), worker.Prompt{RunID: "run", Content: "hello", Priority: worker.Urgent}, worker.Consumed)
	if err != nil || !answer.Accepted || answer.ID != "p-1" {
		t.Errorf("got %+v, %v", answer, err)
	}
	if _, err := c.Prompt(t.Context(), worker.Prompt{RunID: "gone"}, worker.Consumed); !errors.Is(err, worker.ErrFenced) {
		t.Errorf("got %v, want %v", err, worker.ErrFenced)
	}
}
