package promptcmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

const (
	// maxPrompt is the size of the longest prompt in bytes.
	maxPrompt = 1 << 20

	// sendTimeout is how long a controller may take to keep a prompt, or the next one
	// to come if it went away before it said so.
	sendTimeout = 30 * time.Second
	sendRetry   = 200 * time.Millisecond
	// saveTimeout is how long one may say that it cannot keep a prompt: it ends, or its
	// store is slow. What lasts longer is a fault that must be reported.
	saveTimeout = 10 * time.Second
)

// waitLimit is how long is waited for a receipt.
type waitLimit struct {
	state   string        // submitted or consumed; empty is as far as it comes
	timeout time.Duration // zero is the default
	noWait  bool
}

const (
	defaultPatience  = 10 * time.Second // no wait was requested
	explicitPatience = 5 * time.Minute
)

func (p waitLimit) limit() time.Duration {
	switch {
	case p.timeout > 0:
		return p.timeout
	case p.state != "":
		return explicitPatience
	}
	return defaultPatience
}

func (p waitLimit) check(cmd *cobra.Command) error {
	if p.timeout < 0 {
		return cmdenv.Usage(cmd, "--timeout cannot be negative: %v", p.timeout)
	}
	if p.noWait && (p.state != "" || p.timeout > 0) {
		return cmdenv.Usage(cmd, "--no-wait goes neither with --wait nor with --timeout")
	}
	return cmdenv.OneOf(cmd, "--wait", p.state, client.ReceiptSubmitted, client.ReceiptConsumed)
}

func sendCommand(a *app) *cobra.Command {
	var req client.NudgeRequest
	var until waitLimit
	var to cmdenv.Selection
	cmd := &cobra.Command{
		Use:     "send AGENT TEXT|-",
		Aliases: []string{"nudge"},
		Short:   "Send a prompt to an agent",
		Long: `Gives the text to the controller, which keeps it until it is delivered, byte for byte, and prints its
delivery status. An agent that is busy, asleep or waiting for an answer gets it when it can accept it.
With "-" the text is read from standard input; one newline at its end is removed.

To send to several agents, put -- before the text: gc send AGENT AGENT -- TEXT. A name may be a pattern
such as 'web-*'; --all sends to every agent that is not suspended. If a name matches no agent, nothing
is sent to any. The exit status is that of the first agent that failed.

Some input boxes change a text that is typed, such as letters with combining marks. Where no reader sees
the change (line ends, blanks at the edges) the text is sent and the receipt lists the change. Any other
text goes by file if the agent can read files, else it is refused; --allow-changes sends it as typed.

Without --wait it waits up to 10 seconds for the agent to accept the prompt; a prompt that stays in the
queue is a success too. Exit status: 0 accepted, or queued; 5 nothing shows that it was accepted, or not
within --timeout (do not send it again blindly); 1 it will never be delivered; 4 refused; 3 no such
agent.`,
		Example: "  gc send coder 'fix the failing test'\n  gc send coder - < task.md\n  gc send coder 'stop that' --priority urgent --wait consumed --timeout 10m\n  gc send coder 'compare these' --file old.png --file new.png\n  gc send coder reviewer -- 'commit your work'\n  gc send --all 'commit your work'",
		Args: func(cmd *cobra.Command, args []string) error {
			_, err := addressed(cmd, args, &to)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := addressed(cmd, args, &to)
			if err != nil {
				return err
			}
			if err := a.completeRequest(cmd, content, &req); err != nil {
				return err
			}
			if err := until.check(cmd); err != nil {
				return err
			}
			if to.One() {
				return a.OnTarget(cmd.Context(), to.Names[0], func(c *client.Client) error {
					r, err := sendPrompt(cmd.Context(), c, to.Names[0], req)
					if err != nil {
						return err
					}
					return a.pursue(cmd.Context(), c, r, until)
				})
			}
			if req.Instance != "" {
				return cmdenv.Usage(cmd, "--instance goes with one agent")
			}
			return a.OnCity(func(c *client.Client) error {
				agents, err := to.Agents(cmd.Context(), c)
				if err != nil {
					return err
				}
				return a.sendToEach(cmd.Context(), c, agents, req, until)
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	to.AllFlag(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&req.Files, "file", nil, "copy a file into the working directory and name it in the prompt: its `path`; may be repeated")
	flags.BoolVar(&req.Literal, "literal", false, "send to the model also what looks like a command of the agent CLI (/ ! # @); never types it")
	flags.StringVar(&req.Priority, "priority", "", "system (during a turn too), urgent (interrupts the turn) or normal (when idle): the `rank` in the queue")
	flags.StringVar(&req.Key, "key", "", "an idempotency `key`: the same key never sends a second prompt")
	flags.DurationVar(&req.TTL, "ttl", 0, "give up if it is not delivered within this time (default: 24h)")
	flags.StringVar(&until.state, "wait", "", "wait until the prompt is in this `state`: submitted or consumed")
	flags.DurationVar(&until.timeout, "timeout", 0, "how long to wait (default: 10s, with --wait 5m)")
	flags.BoolVar(&until.noWait, "no-wait", false, "return as soon as the prompt is queued")
	flags.StringVar(&req.Instance, "instance", "", "only to this instance: the `id` that gc session show prints")
	flags.BoolVar(&req.AllowChanges, "allow-changes", false, "send it also if the agent's input box changes it; the receipt lists what")
	flags.BoolVar(&req.Successor, "successor", false, "also to a later instance than the one that runs now")
	cmdenv.Words(cmd, "priority", "system", "urgent", "normal")
	cmdenv.Words(cmd, "wait", client.ReceiptSubmitted, client.ReceiptConsumed)
	return a.AddJSONFlag(cmd)
}

// addressed reads from a command line which agents it sends to, and returns the text.
func addressed(cmd *cobra.Command, args []string, to *cmdenv.Selection) (content string, err error) {
	least := 1
	if to.All {
		least = 0
	}
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		dash = least // the rest is the text
	}
	var rest []string
	to.Names, rest = args[:min(dash, len(args))], args[min(dash, len(args)):]
	switch {
	case to.All && len(to.Names) > 0:
		return "", cmdenv.Usage(cmd, "--all selects every agent: leave out %q", to.Names[0])
	case len(to.Names) < least, len(rest) == 0:
		return "", cmdenv.Usage(cmd, "too few arguments, want: %s", cmd.UseLine())
	case len(rest) > 1:
		return "", cmdenv.Usage(cmd, "the prompt must be one argument: put it in quotes; to send to several agents: %s AGENT AGENT -- 'text'", cmd.CommandPath())
	}
	return rest[0], nil
}

// sendToEach sends a prompt to several agents and waits for all of them together.
func (a *app) sendToEach(ctx context.Context, c *client.Client, agents []client.Agent, req client.NudgeRequest, until waitLimit) error {
	receipts := make([]client.Receipt, len(agents))
	failed := a.ForEach(agents, func(i int, agent client.Agent) error {
		each := req
		if len(agents) > 1 {
			each.Key += "-" + agent.Name // a key stands for one prompt
		}
		r, err := sendPrompt(ctx, c, agent.Name, each)
		if err != nil {
			return err
		}
		receipts[i] = r
		r, err = a.awaitEnd(ctx, c, r, until, false)
		receipts[i] = r
		return err
	})
	receipts = slices.DeleteFunc(receipts, func(r client.Receipt) bool { return r.ID == "" })
	if a.JSON {
		if err := a.PrintJSON(receiptList{Receipts: receipts}); err != nil {
			return err
		}
	}
	status := cmdenv.StatusOf(failed)
	for _, r := range receipts {
		if worse := a.printReceipt(r, until); status == cmdenv.Done {
			status = worse
		}
	}
	if status != cmdenv.Done {
		return cmdenv.SilentExit(status)
	}
	return nil
}

// receiptList is what gc send prints with --json for several agents.
type receiptList struct {
	Receipts []client.Receipt `json:"receipts"`
}

// completeRequest checks a prompt and fills in what the command line leaves open.
func (a *app) completeRequest(cmd *cobra.Command, arg string, req *client.NudgeRequest) error {
	prompt, err := a.prompt(cmd, arg)
	if err != nil {
		return err
	}
	if req.TTL < 0 {
		return cmdenv.Usage(cmd, "--ttl cannot be negative: %v", req.TTL)
	}
	if req.Successor && req.Instance != "" {
		return cmdenv.Usage(cmd, "--successor and --instance exclude each other")
	}
	if err := cmdenv.OneOf(cmd, "--priority", req.Priority, "system", "urgent", "normal"); err != nil {
		return err
	}
	for i, file := range req.Files {
		req.Files[i] = a.Path(file)
		if err := cmdenv.Exists(req.Files[i], file); err != nil {
			return err
		}
	}
	req.Text, req.Source = prompt, a.self()
	if req.Key == "" {
		req.Key = "gc-" + rand.Text() // a repeated request is not a second prompt
	}
	return nil
}

// self is who runs this program: an agent by its name, else a person.
func (a *app) self() string {
	return textfmt.FirstOf(a.Getenv("GC_AGENT"), a.Getenv("USER"), a.Getenv("LOGNAME"))
}

// prompt returns the text of an argument, or standard input for "-".
func (a *app) prompt(cmd *cobra.Command, arg string) (string, error) {
	prompt := arg
	if arg == "-" {
		input, err := io.ReadAll(io.LimitReader(a.Stdin, maxPrompt+2))
		if err != nil {
			return "", fmt.Errorf("cannot read the prompt: %w", err)
		}
		prompt = strings.TrimSuffix(string(input), "\n")
	}
	switch {
	case prompt == "":
		return "", cmdenv.Usage(cmd, "the prompt is empty")
	case len(prompt) > maxPrompt:
		return "", cmdenv.Usage(cmd, "the prompt has more than %d bytes; put it into a file and name that: --file PATH", maxPrompt)
	case !utf8.ValidString(prompt):
		return "", cmdenv.Usage(cmd, "the prompt is not valid UTF-8; put it into a file and use: --file PATH")
	}
	return prompt, nil
}

// sendPrompt returns a prompt to the controller. If that goes away before it answers, or
// says that it cannot keep it for the moment, it or the next one is given the same
// prompt with the same key, which is no second prompt.
func sendPrompt(parent context.Context, c *client.Client, name string, req client.NudgeRequest) (client.Receipt, error) {
	ctx, cancel := context.WithTimeout(parent, sendTimeout)
	defer cancel()
	r, err := c.Nudge(ctx, name, req)
	if errors.Is(err, client.ErrNoController) {
		return r, err // no controller ever had it
	}
	soon, cancelSoon := context.WithTimeout(ctx, saveTimeout)
	defer cancelSoon()
	patience := soon
	for isAway(err) {
		if errors.Is(err, client.ErrLost) {
			patience = ctx // it is unknown whether it is kept: that is worth some time
		}
		if !cmdenv.PauseFor(patience, sendRetry, nil) {
			break
		}
		r, err = c.Nudge(ctx, name, req)
	}
	switch {
	case err == nil:
		return r, nil
	case parent.Err() != nil:
		return r, parent.Err()
	case errors.Is(err, client.ErrTimeout), isAway(err) && patience == ctx, errors.Is(err, client.ErrNoController):
		return r, fmt.Errorf("%w: %s may get the prompt, but the controller did not say that it keeps it; ask again without doubling it: the same command with --key %s", client.ErrTimeout, name, req.Key)
	}
	return r, err
}

// isAway reports whether no controller answers for the moment.
func isAway(err error) bool {
	return errors.Is(err, client.ErrLost) || errors.Is(err, client.ErrNoController) || errors.Is(err, client.ErrUnavailable)
}

// pursue waits for a receipt, also across restarts of the controller, and prints it.
func (a *app) pursue(parent context.Context, c *client.Client, r client.Receipt, until waitLimit) error {
	r, err := a.awaitEnd(parent, c, r, until, true)
	if err != nil {
		return err
	}
	if a.JSON {
		if err := a.PrintJSON(r); err != nil {
			return err
		}
	}
	if status := a.printReceipt(r, until); status != cmdenv.Done {
		return cmdenv.SilentExit(status)
	}
	return nil
}

// awaitEnd waits until a receipt has come as far as wanted, and returns it as it is then. With
// remind it prints what it waits for.
func (a *app) awaitEnd(parent context.Context, c *client.Client, r client.Receipt, until waitLimit, remind bool) (client.Receipt, error) {
	if until.noWait {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(parent, until.limit())
	defer cancel()
	want := textfmt.FirstOf(until.state, client.ReceiptSubmitted)
	for look := cmdenv.RemindAfter; !r.Reached(want); look = until.limit() {
		next, err := awaitReceipt(ctx, c, r.ID, want, look)
		switch {
		case err == nil:
			return next, nil
		case parent.Err() != nil:
			a.Messagef("gc: the prompt stays in the queue; see: gc receipt %s", r.ID)
			return r, parent.Err()
		case !isAway(err) && !errors.Is(err, client.ErrTimeout):
			return r, fmt.Errorf("the prompt %s was accepted, but its delivery status is unknown: %w", r.ID, err)
		}
		r = lastSeen(parent, c, r)
		if !cmdenv.PauseFor(ctx, sendRetry, nil) {
			break
		}
		if remind && look == cmdenv.RemindAfter && !r.Reached(want) && a.IsTerminal(a.Stderr) {
			a.Messagef("%s %s; Ctrl-C leaves the prompt in the queue", a.PaintMessage(textfmt.Yellow, "waiting:"), render.Reason(textfmt.FirstOf(r.Reason, "it is "+r.State)))
		}
	}
	return r, nil
}

func awaitReceipt(parent context.Context, c *client.Client, id, want string, limit time.Duration) (client.Receipt, error) {
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	return c.Receipt(ctx, id, want)
}

// lastSeen returns the current receipt, or the last known one if the controller
// does not answer.
func lastSeen(ctx context.Context, c *client.Client, r client.Receipt) client.Receipt {
	now, err := c.Receipt(ctx, r.ID, "")
	if err != nil {
		return r
	}
	return now
}

// printReceipt prints the delivery status of a prompt in a sentence and returns the exit status.
func (a *app) printReceipt(r client.Receipt, until waitLimit) (status int) {
	status, sentence := nudgeEnd(r, until)
	if !a.JSON || status != cmdenv.Done {
		a.Messagef("%s", textfmt.OneLine(sentence))
	}
	return status
}

// changeNote returns how the text differs from what was sent, if it does.
func changeNote(r client.Receipt) string {
	switch {
	case r.ByFile != "":
		return ", by file: its input box would have changed the text"
	case len(r.Changes) > 0:
		return "; its input box changed the text: " + strings.Join(r.Changes, "; ")
	}
	return ""
}

func nudgeEnd(r client.Receipt, until waitLimit) (status int, sentence string) {
	detail := render.Because(r.Reason)
	switch r.State {
	case client.ReceiptConsumed:
		return cmdenv.Done, fmt.Sprintf("%s finished processing the prompt%s", r.Agent, changeNote(r))
	case client.ReceiptSubmitted:
		if until.state == client.ReceiptConsumed && r.Closed {
			return cmdenv.TimedOut, fmt.Sprintf("gc: %s accepted the prompt, and nothing will show whether it processes it%s; look with: gc peek %s", r.Agent, detail, r.Agent)
		}
		if until.state == client.ReceiptConsumed {
			return cmdenv.TimedOut, fmt.Sprintf("gc: %s accepted the prompt, but nothing shows yet that it has processed it; see: gc receipt %s", r.Agent, r.ID)
		}
		return cmdenv.Done, fmt.Sprintf("prompt delivered to %s%s", r.Agent, changeNote(r))
	case client.ReceiptUnconfirmed:
		return cmdenv.TimedOut, fmt.Sprintf("gc: %s may have got the prompt, but nothing shows that it accepted it%s; look with: gc peek %s", r.Agent, detail, r.Agent)
	case client.ReceiptDead, client.ReceiptExpired, client.ReceiptCancelled:
		return cmdenv.Failed, fmt.Sprintf("gc: prompt %s was not delivered: it is %s%s", r.ID, r.State, detail)
	}
	where := "is queued as " + r.ID
	if r.Position > 0 {
		where += fmt.Sprintf(", position %d", r.Position)
	}
	if r.State == client.ReceiptInjected {
		where = "is being delivered as " + r.ID
	}
	if until.state != "" {
		return cmdenv.TimedOut, fmt.Sprintf("gc: the prompt for %s is not %s after %s, it %s%s; see: gc receipt %s", r.Agent, until.state, textfmt.Duration(until.limit()), where, detail, r.ID)
	}
	return cmdenv.Done, fmt.Sprintf("the prompt for %s %s%s; see: gc receipt %s", r.Agent, where, detail, r.ID)
}
