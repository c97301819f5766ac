package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/retry"
	"gascity/internal/textfmt"
)

const (
	// sendTimeout is the total time to send a prompt, including the time for another
	// controller to start if the connection is lost.
	sendTimeout = 30 * time.Second
	// sendRetry is the pause between two attempts.
	sendRetry = 200 * time.Millisecond
	// saveTimeout is how long a controller may answer that it cannot store a prompt at
	// the moment, because it is stopping or its database is slow. After that the error
	// is reported.
	saveTimeout = 10 * time.Second
)

// waitLimit holds the flags that say how long to wait for a receipt, and for which state.
type waitLimit struct {
	state   string        // submitted or consumed; empty: submitted, but a queued prompt is a success too
	timeout time.Duration // zero: the default
	noWait  bool

	successor bool // a later run gets the prompt too
}

const (
	defaultPatience  = 10 * time.Second // without --wait
	explicitPatience = 5 * time.Minute  // with --wait
)

// limit returns how long the command waits for the receipt: the time of --timeout if it is set, else a default that is
// longer with --wait.
func (p waitLimit) limit() time.Duration {
	switch {
	case p.timeout > 0:
		return p.timeout
	case p.state != "":
		return explicitPatience
	}
	return defaultPatience
}

// check returns a usage error if the flags are not valid together.
func (p waitLimit) check(cmd *cobra.Command) error {
	if p.timeout < 0 {
		return cmdenv.Usage(cmd, "--timeout cannot be negative: %v", p.timeout)
	}
	if p.noWait && (p.state != "" || p.timeout > 0) {
		return cmdenv.Usage(cmd, "--no-wait cannot be used with --wait or --timeout")
	}
	return cmdenv.OneOf(cmd, "--wait", p.state, client.ReceiptSubmitted, client.ReceiptConsumed)
}

func sendCommand(a *app) *cobra.Command {
	var req client.NudgeRequest
	var until waitLimit
	var to cmdenv.Selection
	var content string
	cmd := &cobra.Command{
		Use:     "send AGENT TEXT|-",
		Aliases: []string{"nudge"},
		Short:   "Send a prompt to an agent",
		Long: `Sends a text as a prompt and prints its delivery status. The controller stores the text and delivers it
unchanged. An agent that is busy, asleep or waiting for an answer gets it when it can accept it. With
"-" the text is read from standard input; one newline at its end is removed.

To send to several agents, put -- before the text: gc send AGENT AGENT -- TEXT. A name may be a pattern
such as 'web-*'; --all sends to every agent that is not suspended. If a name matches no agent, nothing
is sent to any. The exit status is that of the first agent that failed.

Some input boxes change a text that is typed, for example letters with combining marks. If only line
ends or blanks at the edges change, the text is sent and the receipt lists the change. For any other
change the text is written to a file that the agent reads; if the agent cannot read files, the prompt
is refused. With --allow-changes the text is typed anyway.

Without --wait it waits up to 10 seconds for the agent to accept the prompt; a prompt that stays in the
queue is a success too. Exit status: 0 accepted or queued; 1 it will never be delivered; 3 no such
agent; 4 refused; 5 nothing shows that it was accepted, or the timeout has passed. After 5 check with
gc peek before you send it again.`,
		Example: "  gc send coder 'fix the failing test'\n  gc send coder - < task.md\n  gc send coder 'stop that' --priority urgent --wait consumed --timeout 10m\n  gc send coder 'compare these' --file old.png --file new.png\n  gc send coder reviewer -- 'commit your work'\n  gc send --all 'commit your work'",
		Args: func(cmd *cobra.Command, args []string) (err error) {
			content, err = addressed(cmd, args, &to)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.completeRequest(cmd, content, &req); err != nil {
				return err
			}
			if err := until.check(cmd); err != nil {
				return err
			}
			until.successor = req.Successor
			if to.One() {
				return a.OnTarget(cmd.Context(), to.Names[0], func(c *client.Client) error {
					r, err := sendPrompt(cmd.Context(), c, to.Names[0], req)
					if err != nil {
						return err
					}
					return a.finishReceipt(cmd.Context(), c, r, until)
				})
			}
			if req.Instance != "" {
				return cmdenv.Usage(cmd, "--instance needs exactly one agent")
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
	flags.StringArrayVar(&req.Files, "file", nil, "copy the file at `path` into the working directory and add its path to the prompt; may be repeated")
	flags.BoolVar(&req.Literal, "literal", false, "send a text that looks like a command of the agent CLI (/ ! # @) as plain text to the model, in a way other than typing")
	flags.StringVar(&req.Priority, "priority", "", "the `priority` in the queue: system (also during a turn), urgent (interrupts the turn) or normal (when idle)")
	flags.StringVar(&req.Key, "key", "", "an idempotency `key`: a second prompt with the same key is not sent")
	flags.DurationVar(&req.TTL, "ttl", 0, "give up if the prompt is not delivered within this time (default: 24h)")
	flags.StringVar(&until.state, "wait", "", "wait until the prompt is in this `state`: submitted or consumed")
	flags.DurationVar(&until.timeout, "timeout", 0, "how long to wait for the receipt's state (default: 10s, or 5m if --wait is given)")
	flags.BoolVar(&until.noWait, "no-wait", false, "return as soon as the prompt is queued")
	flags.StringVar(&req.Instance, "instance", "", "only to this instance: the `id` that gc session show prints")
	flags.BoolVar(&req.AllowChanges, "allow-changes", false, "send the text even if the agent's input box changes it; the receipt lists the changes")
	flags.BoolVar(&req.Successor, "successor", false, "also deliver to a later instance than the current one")
	cmdenv.Words(cmd, "priority", client.Priorities()...)
	cmdenv.Words(cmd, "wait", client.ReceiptSubmitted, client.ReceiptConsumed)
	return a.AddJSONFlag(cmd)
}

// addressed sets to.Names from the arguments of gc send, and returns the text.
func addressed(cmd *cobra.Command, args []string, to *cmdenv.Selection) (content string, err error) {
	least := 1
	if to.All {
		least = 0
	}
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		dash = least // the last argument is the text
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

// sendToEach sends a prompt to several agents concurrently, waits for all receipts and prints them.
func (a *app) sendToEach(ctx context.Context, c *client.Client, agents []client.Agent, req client.NudgeRequest, until waitLimit) error {
	receipts := make([]client.Receipt, len(agents))
	failed := a.ForEach(agents, func(i int, agent client.Agent) error {
		each := req
		if len(agents) > 1 {
			each.Key += "-" + agent.Name // each prompt needs its own key
		}
		r, err := sendPrompt(ctx, c, agent.Name, each)
		if err != nil {
			return err
		}
		receipts[i] = r
		r, err = a.awaitReceipt(ctx, c, r, until, false)
		receipts[i] = r
		return err
	})
	receipts = slices.DeleteFunc(receipts, func(r client.Receipt) bool { return r.ID == "" })
	if err := a.PrintIfJSON(cmdenv.Rows("receipts", receipts)); err != nil {
		return err
	}
	status := cmdenv.StatusOf(failed)
	for _, r := range receipts {
		if of := a.printReceipt(r, until); status == cmdenv.Done {
			status = of // the first that is not Done counts
		}
	}
	return cmdenv.SilentExit(status)
}

// completeRequest checks the flags and sets the text, the source, the paths of files and the key of a request.
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
	if err := cmdenv.OneOf(cmd, "--priority", req.Priority, client.Priorities()...); err != nil {
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
		req.Key = "gc-" + rand.Text() // so a repeated request does not create a second prompt
	}
	return nil
}

// self returns the sender: the agent in whose session this program runs, else the user name.
func (a *app) self() string {
	return cmp.Or(a.Getenv("GC_AGENT"), a.Getenv("USER"), a.Getenv("LOGNAME"))
}

// prompt returns the text of a prompt: the argument, or standard input for "-". An empty, too long or invalid
// text is a usage error.
func (a *app) prompt(cmd *cobra.Command, arg string) (string, error) {
	prompt := arg
	if arg == "-" {
		input, err := io.ReadAll(io.LimitReader(a.Stdin, client.MaxPrompt+2))
		if err != nil {
			return "", fmt.Errorf("cannot read the prompt: %w", err)
		}
		prompt = strings.TrimSuffix(string(input), "\n")
	}
	if err := client.CheckPrompt(prompt); err != nil {
		return "", cmdenv.Usage(cmd, "%s", strings.TrimPrefix(err.Error(), client.ErrInvalid.Error()+": "))
	}
	return prompt, nil
}

// sendPrompt sends a prompt to the controller and returns its receipt. If the connection is
// lost, or the controller cannot store the prompt at the moment, it sends the request again.
// The key is the same, so the prompt is not delivered twice. If it stays unknown whether the
// prompt is stored, the error matches [client.ErrTimeout].
func sendPrompt(parent context.Context, c *client.Client, name string, req client.NudgeRequest) (client.Receipt, error) {
	ctx, cancel := context.WithTimeout(parent, sendTimeout)
	defer cancel()
	r, err := c.Nudge(ctx, name, req)
	if errors.Is(err, client.ErrNoController) {
		return r, err // no controller received it
	}
	soon, cancelSoon := context.WithTimeout(ctx, saveTimeout)
	defer cancelSoon()
	retrying, maybeStored := soon, false
	for noAnswer(err) {
		if errors.Is(err, client.ErrLost) {
			retrying, maybeStored = ctx, true // retry longer to find out
		}
		if !retry.Sleep(retrying, sendRetry) {
			break
		}
		r, err = c.Nudge(ctx, name, req)
	}
	switch {
	case err == nil:
		return r, nil
	case parent.Err() != nil:
		return r, parent.Err()
	case errors.Is(err, client.ErrTimeout), noAnswer(err) && maybeStored, errors.Is(err, client.ErrNoController):
		return r, fmt.Errorf("%w: the controller did not confirm that the prompt for %s is stored; to send it again without a duplicate, repeat the command with --key %s", client.ErrTimeout, name, req.Key)
	}
	return r, err
}

// noAnswer reports whether an error means that no controller answers at the moment.
func noAnswer(err error) bool {
	return errors.Is(err, client.ErrLost) || errors.Is(err, client.ErrNoController) || errors.Is(err, client.ErrUnavailable)
}

// finishReceipt waits until a receipt has the wanted state, also across restarts of the controller, and
// prints it. The error sets the exit status of gc send.
func (a *app) finishReceipt(parent context.Context, c *client.Client, r client.Receipt, until waitLimit) error {
	r, err := a.awaitReceipt(parent, c, r, until, true)
	if err != nil {
		return err
	}
	if err := a.PrintIfJSON(r); err != nil {
		return err
	}
	return cmdenv.SilentExit(a.printReceipt(r, until))
}

// awaitReceipt waits until a receipt has the wanted state or the time limit has passed, and returns the
// latest receipt. With remind it prints why the prompt waits, if that takes long.
func (a *app) awaitReceipt(parent context.Context, c *client.Client, r client.Receipt, until waitLimit, remind bool) (client.Receipt, error) {
	if until.noWait {
		return r, nil
	}
	ctx, cancel := context.WithTimeout(parent, until.limit())
	defer cancel()
	want := cmp.Or(until.state, client.ReceiptSubmitted)
	for wait := cmdenv.RemindAfter; !r.Reached(want); wait = until.limit() {
		next, err := requestReceipt(ctx, c, r.ID, want, wait)
		switch {
		case err == nil:
			return next, nil
		case parent.Err() != nil:
			a.Messagef("gc: the prompt stays in the queue; see: gc receipt %s", r.ID)
			return r, parent.Err()
		case !noAnswer(err) && !errors.Is(err, client.ErrTimeout):
			return r, fmt.Errorf("the prompt %s was accepted, but its delivery status is unknown: %w", r.ID, err)
		}
		r = lastSeen(parent, c, r)
		if !retry.Sleep(ctx, sendRetry) {
			break
		}
		if remind && wait == cmdenv.RemindAfter && !r.Reached(want) && a.IsTerminal(a.Stderr) {
			a.Messagef("%s %s; Ctrl-C leaves the prompt in the queue", a.PaintMessage(textfmt.Yellow, "waiting:"), render.Reason(cmp.Or(r.Reason, "it is "+r.State)))
		}
	}
	return r, nil
}

// requestReceipt returns the receipt as soon as it has the wanted state. After limit it returns an error.
func requestReceipt(parent context.Context, c *client.Client, id, want string, limit time.Duration) (client.Receipt, error) {
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

// printReceipt prints the delivery status of a prompt in one sentence and returns the exit status.
func (a *app) printReceipt(r client.Receipt, until waitLimit) (status int) {
	status, sentence := describeReceipt(r, until)
	a.Messagef("%s", textfmt.OneLine(sentence))
	return status
}

// changeNote describes how the delivered text differs from the sent one; empty if it does not.
func changeNote(r client.Receipt) string {
	switch {
	case r.ByFile != "":
		return ", as a file, because its input box would have changed the text"
	case len(r.Changes) > 0:
		return "; its input box changed the text: " + strings.Join(r.Changes, "; ")
	}
	return ""
}

// describeReceipt returns the exit status of gc send for a receipt, and a sentence for people.
func describeReceipt(r client.Receipt, until waitLimit) (status int, sentence string) {
	detail := render.Because(r.Reason)
	switch r.State {
	case client.ReceiptConsumed:
		return cmdenv.Done, fmt.Sprintf("%s finished processing the prompt%s", r.Agent, changeNote(r))
	case client.ReceiptSubmitted:
		if until.state == client.ReceiptConsumed && r.Closed {
			return cmdenv.TimedOut, fmt.Sprintf("gc: %s accepted the prompt, but gc cannot find out whether it has processed it%s; check with: gc peek %s", r.Agent, detail, r.Agent)
		}
		if until.state == client.ReceiptConsumed {
			return cmdenv.TimedOut, fmt.Sprintf("gc: %s accepted the prompt, but nothing shows yet that it has processed it; see: gc receipt %s", r.Agent, r.ID)
		}
		return cmdenv.Done, fmt.Sprintf("prompt delivered to %s%s", r.Agent, changeNote(r))
	case client.ReceiptUnconfirmed:
		return cmdenv.TimedOut, fmt.Sprintf("gc: %s may have got the prompt, but nothing shows that it accepted it%s; check with: gc peek %s", r.Agent, detail, r.Agent)
	case client.ReceiptDead, client.ReceiptExpired, client.ReceiptCancelled:
		return cmdenv.Failed, fmt.Sprintf("gc: prompt %s was not delivered: it is %s%s", r.ID, r.State, detail)
	}
	where := "is queued as " + r.ID
	if r.Position > 0 {
		where += fmt.Sprintf(", position %d", r.Position)
	}
	if r.State == client.ReceiptInjected {
		where = "is being delivered as " + r.ID
	} else if r.Instance != "" && !until.successor {
		detail += "; a later run does not get it, unless it resumes the conversation"
	}
	if until.state != "" {
		return cmdenv.TimedOut, fmt.Sprintf("gc: the prompt for %s is not %s after %s, it %s%s; see: gc receipt %s", r.Agent, until.state, textfmt.Duration(until.limit()), where, detail, r.ID)
	}
	return cmdenv.Done, fmt.Sprintf("the prompt for %s %s%s; see: gc receipt %s", r.Agent, where, detail, r.ID)
}
