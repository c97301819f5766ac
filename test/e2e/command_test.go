package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/worker"
)

// switchAgent is the name under which the test program is an agent with a terminal for commands and a native
// channel for prompts:
//
//	switchagent FILE REPORTS
//
// It writes each prompt into the file with the number of its conversation. The command /new
// starts another conversation, after slowCommand. REPORTS is "yes" if its channel reports that.
const switchAgent = "switchagent"

// slowCommand is how long the agent takes to carry out /new. It is longer than the
// replacement of a controller and a prompt take.
const slowCommand = 3500 * time.Millisecond

// switching is the agent.
type switching struct {
	file    *os.File
	reports bool
	city    *worker.Client

	mu           sync.Mutex
	conversation int
}

// runSwitchAgent runs the agent until its terminal is gone. It returns the exit status.
func runSwitchAgent(args []string) int {
	file, err := os.OpenFile(args[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 1
	}
	a := &switching{file: file, reports: args[1] == "yes", conversation: 1}
	a.city = &worker.Client{Socket: os.Getenv("GC_WORKER_SOCKET"), Token: os.Getenv("GC_WORKER_TOKEN"), RunID: os.Getenv("GC_RUN_ID")}
	ctx := context.Background()
	a.report(ctx, worker.Started, worker.Detail{Agent: switchAgent})
	a.report(ctx, worker.Ready, worker.Detail{})
	go a.listen(ctx) // it ends with the process
	fmt.Print("❯ ")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Print("❯ ") {
		if strings.TrimSpace(in.Text()) != "/new" {
			continue
		}
		time.AfterFunc(slowCommand, func() { a.begin(ctx) }) // its input box is empty before that
	}
	return 0
}

// begin starts another conversation.
func (a *switching) begin(ctx context.Context) {
	a.mu.Lock()
	a.conversation++
	fmt.Printf("conversation %d\n❯ ", a.conversation)
	a.mu.Unlock()
	if a.reports {
		a.report(ctx, worker.Ready, worker.Detail{})
	}
}

// report reports as the extension of an agent CLI does. Without a controller it tries again.
func (a *switching) report(ctx context.Context, event worker.Transition, d worker.Detail) {
	d.Via = worker.ViaHook
	_ = a.city.ReportAt(ctx, event, time.Now(), d) // the test checks what the city refused
}

// listen accepts the prompts of the city in the current conversation.
func (a *switching) listen(ctx context.Context) {
	for m, err := range a.city.Messages(ctx) {
		var p worker.Prompt
		if err != nil || m.Kind != worker.PromptMessage || json.Unmarshal(m.Data, &p) != nil {
			continue
		}
		a.mu.Lock()
		_, _ = fmt.Fprintf(a.file, "%d %s\n", a.conversation, p.Content) // the test checks what is missing
		a.mu.Unlock()
		a.report(ctx, worker.Busy, worker.Detail{PromptHash: worker.PromptHash(p.Content)})
		_ = a.city.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Submitted}) // the client repeats it
		a.report(ctx, worker.Idle, worker.Detail{Reason: worker.TurnDone})
		_ = a.city.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Consumed}) // the client repeats it
	}
}

// TestPromptWaitsForAnEarlierCommand: a prompt by the native channel right after a typed /new
// reaches the conversation that the command starts, also if the channel does not report the command, or the
// controller is killed between the two.
func TestPromptWaitsForAnEarlierCommand(t *testing.T) {
	t.Parallel()
	for name, reports := range map[string]string{"reported": "yes", "silent": "no"} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s killed=%t", name, killed), func(t *testing.T) {
				t.Parallel()
				c := newCityOf(t, "", nil)
				self, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(self, filepath.Join(c.root, switchAgent)); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(filepath.Join(c.root, client.CityFile))
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(c.root, "prompts")
				c.write(string(text) + fmt.Sprintf("[[agents]]\nname = \"one\"\nstart_command = \"exec %s %s %s\"\nready_prompt_prefix = \"❯\"\n", filepath.Join(c.root, switchAgent), file, reports))
				c.start()
				c.await("running", running)
				if err := c.promptAndWait("one", "first"); err != nil {
					t.Fatal(err)
				}
				command, err := c.client.Nudge(t.Context(), "one", client.NudgeRequest{Text: "/new"})
				if err != nil {
					t.Fatal(err)
				}
				for command.State == client.ReceiptAccepted || command.State == client.ReceiptQueued || command.State == client.ReceiptInjected {
					pause(10 * time.Millisecond)
					if command, err = c.client.Receipt(t.Context(), command.ID, ""); err != nil {
						t.Fatal(err)
					}
				}
				if command.State != client.ReceiptSubmitted && command.State != client.ReceiptConsumed { // the test needs an early receipt
					t.Fatalf("the command is %s: %s", command.State, command.Reason)
				}
				if killed {
					c.kill()
					c.start()
				}
				if err := c.promptAndWait("one", "second"); err != nil {
					t.Error(err)
				}
				if got, err := os.ReadFile(file); err != nil || string(got) != "1 first\n2 second\n" {
					t.Errorf("the agent got %q, %v; the command is %s (%s)", got, err, command.State, command.Reason)
				}
				c.stop()
			})
		}
	}
}
