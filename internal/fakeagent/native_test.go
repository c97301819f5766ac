package fakeagent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/build"
	"gascity/worker"
	"gascity/worker/workertest"
)

// TestAWorkerKeepsTheContract, all of it: nothing is left out.
func TestAWorkerKeepsTheContract(t *testing.T) {
	t.Parallel()
	agent := build.Build(t)
	results, err := workertest.Check(t.Context(), workertest.Options{
		ToolPrompt: "[[touch:" + workertest.FileMark + "]]", LongPrompt: "[[forever]]", Patience: 4 * patience,
		Command: func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, agent, "--worker", "--max-life", "3m")
			cmd.Stderr = os.Stderr
			return cmd
		},
	})
	if err != nil || len(results) != len(workertest.Promises()) {
		t.Errorf("%d results, %v", len(results), err)
	}
	for _, r := range results {
		if r.Err != nil || r.Skipped {
			t.Errorf("%s: %s\n\tskipped: %t, %s, %v", r.ID, r.Sentence, r.Skipped, r.Reason, r.Err)
		}
	}
}

// nativeSession is a fake agent that speaks with a made up city.
type nativeSession struct {
	*workertest.City

	t      *testing.T
	ctx    context.Context //nolint:containedctx // of the test
	ledger string
	ended  chan error
}

func playNative(t *testing.T, args ...string) *nativeSession {
	t.Helper()
	city, err := workertest.NewCity()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*patience)
	s := &nativeSession{City: city, t: t, ctx: ctx, ledger: filepath.Join(t.TempDir(), "ledger"), ended: make(chan error, 1)}
	cmd := exec.CommandContext(ctx, build.Build(t), append([]string{"--worker", "--ledger", s.ledger, "--max-life", "3m"}, args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), city.Env()...), os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); s.ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cancel()
		<-done
		if err := city.Close(); err != nil {
			t.Error(err)
		}
		if records, err := ledger.Read(s.ledger); err != nil || ledger.Verify(records) != nil {
			t.Errorf("the ledger: %v, %v", err, ledger.Verify(records))
		}
	})
	return s
}

// waitForWord waits until the agent has said something, and returns it.
func (s *nativeSession) waitForWord(word string) (said workertest.Word) {
	s.t.Helper()
	err := s.Await(s.ctx, func(words []workertest.Word) bool {
		i := slices.IndexFunc(words, func(w workertest.Word) bool { return w.String() == word })
		if i >= 0 {
			said = words[i]
		}
		return i >= 0
	})
	if err != nil {
		s.t.Fatalf("it does not say %q: %v", word, err)
	}
	return said
}

func (s *nativeSession) prompt(id, text string) {
	s.t.Helper()
	if err := s.Prompt(id, text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *nativeSession) send(id string, kind worker.MessageKind, data any) {
	s.t.Helper()
	if err := s.Send(id, kind, data); err != nil {
		s.t.Fatal(err)
	}
}

func (s *nativeSession) records(kind string) []ledger.Record {
	s.t.Helper()
	records, err := ledger.Read(s.ledger)
	if err != nil {
		s.t.Fatal(err)
	}
	return ledger.Of(records, kind)
}

// TestAWorkersQuestions are answered by what the city sends, and withdrawn when they are gone.
func TestAWorkersQuestions(t *testing.T) {
	t.Parallel()
	s := playNative(t)
	s.prompt("p1", "[[ask:Which?|A|B]][[reply:Why?]][[askfor:1ms|Still there?]]")
	asked := s.waitForWord("/interaction raised question-1")
	if options, ok := asked.Body["options"].([]any); !ok || len(options) != 2 || asked.Body["text"] != "Which?" {
		t.Errorf("it asks %v", asked.Body)
	}
	s.send("r0", worker.ReplyMessage, worker.Reply{Interaction: "question-1", Option: "o9"})
	s.waitForWord("/ack r0 refused")
	s.send("r1", worker.ReplyMessage, worker.Reply{Interaction: "question-1", Option: "o2"})
	s.waitForWord("/ack r1 consumed")
	if why := s.waitForWord("/interaction raised question-2"); why.Body["free_text"] != true {
		t.Errorf("it asks %v", why.Body)
	}
	s.send("r2", worker.ReplyMessage, worker.Reply{Interaction: "question-2", Text: "because"})
	s.waitForWord("/ack r2 consumed")
	s.waitForWord("/interaction resolved question-3")
	s.waitForWord("/ack p1 consumed")
	var choices []string
	for _, r := range s.records(ledger.Choice) {
		choices = append(choices, r.Choice)
	}
	if fmt.Sprint(choices) != "[B because (gone)]" {
		t.Errorf("it took %q", choices)
	}
	s.prompt("p2", "[[exit:3]]")
	if stopped := s.waitForWord("/lifecycle stopped"); fmt.Sprint(stopped.Body["metadata"]) != "map[exit_code:3 reason:directive]" {
		t.Errorf("it says of its end %v", stopped.Body)
	}
	if err := <-s.ended; err == nil {
		t.Error("it has exited 0, must be 3")
	}
}

// TestTheLedgerOfAWorker has each message as it came, the prompts that were worked on, and of a credential the
// sum alone.
func TestTheLedgerOfAWorker(t *testing.T) {
	t.Parallel()
	s := playNative(t, "--ledger-env", "TOLD")
	s.send("c1", worker.ContextMessage, worker.Context{Sections: []worker.Section{{Type: "role", Content: "you are n1", Nonce: "n1"}, {Type: "work", Content: "x", Nonce: "n2"}}})
	if ack := s.waitForWord("/ack c1 consumed"); fmt.Sprint(ack.Body["nonces"]) != "[n1]" {
		t.Errorf("it gives back %v", ack.Body)
	}
	const secret = "s3cret-4711"
	s.send("i1", worker.IdentityMessage, worker.Identity{Env: map[string]string{"TOLD": "yes"}, Credentials: &worker.Credentials{Type: "api_key", Value: secret, Account: "me"}})
	s.waitForWord("/ack i1 consumed")
	s.prompt("p1", "one")
	s.waitForWord("/ack p1 consumed")
	if got := s.records(ledger.Message); len(got) != 3 || got[0].Message != "c1" || got[1].Message != "i1" || got[1].Bytes != 0 || got[2].Message != "p1" {
		t.Errorf("of the messages it wrote %+v", got)
	}
	if got := s.records(ledger.Context); len(got) != 2 || got[0].Text != "you are n1" || got[0].Dialog != "role" {
		t.Errorf("of the context it wrote %+v", got)
	}
	if got := s.records(ledger.Identity); len(got) != 1 || got[0].SHA256 != ledger.Sum(secret) || got[0].Text != "" || got[0].Env["TOLD"] != "yes" {
		t.Errorf("of the identity it wrote %+v", got)
	}
	if got := s.records(ledger.Prompt); len(got) != 1 || !got[0].Is("one") || got[0].Source != "worker" {
		t.Errorf("of the prompt it wrote %+v", got)
	}
}

// TestAWorkerWithoutACity says what is missing.
func TestAWorkerWithoutACity(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), build.Build(t), "--worker")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 2 || !slices.Contains([]string{"fakeagent: " + errNoCity.Error() + "\n"}, string(out)) {
		t.Errorf("it ends with %v and says %q", err, out)
	}
}
