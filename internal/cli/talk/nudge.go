package talk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/cli/page"
	"gascity/internal/text"
)

const (
	// maxPrompt is the size of the longest prompt in bytes.
	maxPrompt = 1 << 20

	// handTime is how long a controller may take to keep a prompt, or the next one
	// to come if it went away before it said so.
	handTime  = 30 * time.Second
	handAgain = 200 * time.Millisecond
	// keepTime is how long one may say that it cannot keep a prompt: it ends, or its
	// store is slow. What lasts longer is a fault to be told.
	keepTime = 10 * time.Second
)

// patience is how long is waited for a receipt.
type patience struct {
	state   string        // submitted or consumed; empty is as far as it comes
	timeout time.Duration // zero is the default
	noWait  bool
}

const (
	defaultPatience  = 10 * time.Second // nobody asked for a wait
	explicitPatience = 5 * time.Minute
)

func (p patience) limit() time.Duration {
	switch {
	case p.timeout > 0:
		return p.timeout
	case p.state != "":
		return explicitPatience
	}
	return defaultPatience
}

func (p patience) check(cmd *cobra.Command) error {
	if p.timeout < 0 {
		return desk.Usage(cmd, "--timeout cannot be negative: %v", p.timeout)
	}
	if p.noWait && (p.state != "" || p.timeout > 0) {
		return desk.Usage(cmd, "--no-wait goes neither with --wait nor with --timeout")
	}
	return desk.OneOf(cmd, "--wait", p.state, client.ReceiptSubmitted, client.ReceiptConsumed)
}

func nudgeCommand(a *app) *cobra.Command {
	var req client.NudgeRequest
	var until patience
	cmd := &cobra.Command{
		Use:   "nudge AGENT TEXT|-",
		Short: "Give an agent a prompt",
		Long: `Hands the text to the controller, which keeps it until it is delivered, byte for byte, and says what
became of it: an agent that is busy, asleep or asking gets it when it can take it. With "-" the text is
read from standard input, one line end at its end left out.

Some input boxes change a text that is typed, such as letters with combining marks. Where no reader sees
the change (line ends, blanks at the edges) the text is sent and the receipt lists the change. Any other
text goes by file if the agent can read files, else it is refused; --allow-changes sends it as typed.

Without --wait it looks for 10 seconds whether the agent takes it, and is content with a prompt that
waits in the queue. Exit status: 0 taken, or kept for later; 5 nothing shows that it was taken, or not
within --timeout (do not send it again blindly); 1 it will never be delivered; 4 refused; 3 no such
agent.`,
		Example: "  gc nudge worker 'fix the failing test'\n  gc nudge worker - < task.md\n  gc nudge worker 'stop that' --priority urgent --wait consumed --timeout 10m\n  gc nudge worker 'compare these' --file old.png --file new.png",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return desk.Usage(cmd, "the prompt has to be one argument: put it in quotes")
			}
			return desk.Between(2, 2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.completeRequest(cmd, args[1], &req); err != nil {
				return err
			}
			if err := until.check(cmd); err != nil {
				return err
			}
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				r, err := hand(cmd.Context(), c, args[0], req)
				if err != nil {
					return err
				}
				return a.pursue(cmd.Context(), c, r, until)
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&req.Files, "file", nil, "a `path` to go with it, into the work folder; may be repeated")
	flags.BoolVar(&req.Literal, "literal", false, "the text is for the model, also if it begins like a command (/ ! # @): it is never typed")
	flags.StringVar(&req.Priority, "priority", "", "system (during a turn too), urgent (interrupts the turn) or normal (when idle): the `rank` in the queue")
	flags.StringVar(&req.Key, "key", "", "the same `key` again gives the same receipt and no second prompt")
	flags.DurationVar(&req.TTL, "ttl", 0, "after that it is not delivered any more (default: 24h)")
	flags.StringVar(&until.state, "wait", "", "return when it is submitted or consumed: the `state`")
	flags.DurationVar(&until.timeout, "timeout", 0, "how long to wait (default: 10s, with --wait 5m)")
	flags.BoolVar(&until.noWait, "no-wait", false, "return as soon as the controller keeps it")
	flags.StringVar(&req.Instance, "instance", "", "only for this `incarnation`, as gc session show tells it")
	flags.BoolVar(&req.AllowChanges, "allow-changes", false, "send it also if the agent's input box changes it; the receipt lists what")
	flags.BoolVar(&req.Successor, "successor", false, "also for a later incarnation than the one that runs now")
	desk.Words(cmd, "priority", "system", "urgent", "normal")
	desk.Words(cmd, "wait", client.ReceiptSubmitted, client.ReceiptConsumed)
	return a.Listing(cmd)
}

// completeRequest checks a prompt and fills in what the command line leaves open.
func (a *app) completeRequest(cmd *cobra.Command, arg string, req *client.NudgeRequest) error {
	prompt, err := a.prompt(cmd, arg)
	if err != nil {
		return err
	}
	if req.TTL < 0 {
		return desk.Usage(cmd, "--ttl cannot be negative: %v", req.TTL)
	}
	if req.Successor && req.Instance != "" {
		return desk.Usage(cmd, "--successor and --instance exclude each other")
	}
	if err := desk.OneOf(cmd, "--priority", req.Priority, "system", "urgent", "normal"); err != nil {
		return err
	}
	for i, file := range req.Files {
		req.Files[i] = a.Path(file)
		if err := desk.Exists(req.Files[i], file); err != nil {
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
	return text.FirstOf(a.Getenv("GC_AGENT"), a.Getenv("USER"), a.Getenv("LOGNAME"))
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
		return "", desk.Usage(cmd, "the prompt is empty")
	case len(prompt) > maxPrompt:
		return "", desk.Usage(cmd, "the prompt has more than %d bytes; put it into a file and name that: --file PATH", maxPrompt)
	case !utf8.ValidString(prompt):
		return "", desk.Usage(cmd, "the prompt is no UTF-8 text; put it into a file and name that: --file PATH")
	}
	return prompt, nil
}

// hand gives a prompt to the controller. If that goes away before it answers, or
// says that it cannot keep it for the moment, it or the next one is given the same
// prompt with the same key, which is no second prompt.
func hand(parent context.Context, c *client.Client, name string, req client.NudgeRequest) (client.Receipt, error) {
	ctx, cancel := context.WithTimeout(parent, handTime)
	defer cancel()
	r, err := c.Nudge(ctx, name, req)
	if errors.Is(err, client.ErrNoController) {
		return r, err // nobody ever had it
	}
	soon, cancelSoon := context.WithTimeout(ctx, keepTime)
	defer cancelSoon()
	patience := soon
	for away(err) {
		if errors.Is(err, client.ErrLost) {
			patience = ctx // nobody knows whether it is kept: that is worth some time
		}
		if !desk.PauseFor(patience, handAgain, nil) {
			break
		}
		r, err = c.Nudge(ctx, name, req)
	}
	switch {
	case err == nil:
		return r, nil
	case parent.Err() != nil:
		return r, parent.Err()
	case errors.Is(err, client.ErrTimeout), away(err) && patience == ctx, errors.Is(err, client.ErrNoController):
		return r, fmt.Errorf("%w: %s may get the prompt, but the controller did not say that it keeps it; ask again without doubling it: the same command with --key %s", client.ErrTimeout, name, req.Key)
	}
	return r, err
}

// away reports whether nobody answers for the moment.
func away(err error) bool {
	return errors.Is(err, client.ErrLost) || errors.Is(err, client.ErrNoController) || errors.Is(err, client.ErrUnavailable)
}

// pursue waits for a receipt, also across restarts of the controller, and says
// what became of it.
func (a *app) pursue(parent context.Context, c *client.Client, r client.Receipt, until patience) error {
	if until.noWait {
		return a.tellReceipt(r, until)
	}
	ctx, cancel := context.WithTimeout(parent, until.limit())
	defer cancel()
	want := text.FirstOf(until.state, client.ReceiptSubmitted)
	for look := desk.RemindAfter; !r.Reached(want); look = until.limit() {
		next, err := awaitReceipt(ctx, c, r.ID, want, look)
		switch {
		case err == nil:
			return a.tellReceipt(next, until)
		case parent.Err() != nil:
			a.Talk("gc: the prompt goes on; see: gc receipt %s", r.ID)
			return parent.Err()
		case !away(err) && !errors.Is(err, client.ErrTimeout):
			return fmt.Errorf("the prompt %s is kept, but what became of it is not known: %w", r.ID, err)
		}
		r = lastSeen(parent, c, r)
		if !desk.PauseFor(ctx, handAgain, nil) {
			break
		}
		if look == desk.RemindAfter && !r.Reached(want) && a.IsTerminal(a.Stderr) {
			a.Talk("%s  %s; Ctrl-C leaves the prompt in the queue", a.PaintTalk(text.Yellow, ".."), page.Reason(text.FirstOf(r.Reason, "it is "+r.State)))
		}
	}
	return a.tellReceipt(r, until)
}

func awaitReceipt(parent context.Context, c *client.Client, id, want string, limit time.Duration) (client.Receipt, error) {
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	return c.Receipt(ctx, id, want)
}

// lastSeen is the receipt as it is now, or as it was when nobody tells.
func lastSeen(ctx context.Context, c *client.Client, r client.Receipt) client.Receipt {
	now, err := c.Receipt(ctx, r.ID, "")
	if err != nil {
		return r
	}
	return now
}

// tellReceipt says what became of a prompt.
func (a *app) tellReceipt(r client.Receipt, until patience) error {
	if a.JSON {
		if err := a.Document(r); err != nil {
			return err
		}
	}
	status, sentence := nudgeEnd(r, until)
	if !a.JSON || status != desk.Done {
		a.Talk("%s", text.OneLine(sentence))
	}
	if status != desk.Done {
		return desk.Said(status)
	}
	return nil
}

// manner says how the text differs from what was sent, if it does.
func manner(r client.Receipt) string {
	switch {
	case r.ByFile != "":
		return ", by file: its input box would have changed the text"
	case len(r.Changes) > 0:
		return "; its input box changed the text: " + strings.Join(r.Changes, "; ")
	}
	return ""
}

func nudgeEnd(r client.Receipt, until patience) (status int, sentence string) {
	detail := page.Because(r.Reason)
	switch r.State {
	case client.ReceiptConsumed:
		return desk.Done, fmt.Sprintf("%s has worked on the prompt (%s)%s", r.Agent, text.FirstOf(r.Evidence, "confirmed"), manner(r))
	case client.ReceiptSubmitted:
		if until.state == client.ReceiptConsumed && r.Closed {
			return desk.TimedOut, fmt.Sprintf("gc: %s took the prompt, and nothing will show whether it has worked on it%s; look with: gc peek %s", r.Agent, detail, r.Agent)
		}
		if until.state == client.ReceiptConsumed {
			return desk.TimedOut, fmt.Sprintf("gc: %s took the prompt, but nothing shows yet that it has worked on it; see: gc receipt %s", r.Agent, r.ID)
		}
		return desk.Done, fmt.Sprintf("%s took the prompt (%s)%s", r.Agent, text.FirstOf(r.Evidence, "confirmed"), manner(r))
	case client.ReceiptUnconfirmed:
		return desk.TimedOut, fmt.Sprintf("gc: %s may have got the prompt, but nothing shows that it took it%s; look with: gc peek %s", r.Agent, detail, r.Agent)
	case client.ReceiptDead, client.ReceiptExpired, client.ReceiptCancelled:
		return desk.Failed, fmt.Sprintf("gc: the prompt %s was not delivered, it is %s%s", r.ID, r.State, detail)
	}
	where := "is kept as " + r.ID
	if r.Position > 0 {
		where += fmt.Sprintf(", number %d in the queue", r.Position)
	}
	if r.State == client.ReceiptInjected {
		where = "is being handed over as " + r.ID
	}
	if until.state != "" {
		return desk.TimedOut, fmt.Sprintf("gc: the prompt for %s is not %s after %v, it %s%s; see: gc receipt %s", r.Agent, until.state, until.limit(), where, detail, r.ID)
	}
	return desk.Done, fmt.Sprintf("the prompt for %s %s%s; see: gc receipt %s", r.Agent, where, detail, r.ID)
}
