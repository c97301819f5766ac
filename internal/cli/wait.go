package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// waitFlags are the flags of gc wait.
type waitFlags struct {
	condition   string
	timeout     time.Duration
	register    bool
	owner, text string
}

func waitCommand(a *app) *cobra.Command {
	var flags waitFlags
	cmd := &cobra.Command{
		Use:   "wait [AGENT] --for CONDITION",
		Short: "Wait for a condition",
		Long: `Waits until the agent is idle, busy, waiting (for a person), running or stopped. Without an agent it
waits until a prompt is finished (receipt=ID), a question is closed (pending=ID), a time has come
(time=18:00, time=10m), or a shell command succeeds ("command=test -e done"). The controller repeats the
command. A condition that contains a blank is a command too. Exit status: 0 the condition is met, 1 it
can no longer be met, 5 timed out.

With --register it returns at once. The controller stores the wait, and sends a prompt to the owner, an
agent, when the condition is met.`,
		Example: "  gc wait worker --for idle --timeout 10m && gc send worker 'next one'\n  gc wait --for receipt=ID\n  gc wait builder --for idle --register --text 'the builder is done: look at its work'\n  gc wait --for 'test -e report.md' --timeout 1h",
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := a.condition(cmd, cmdenv.First(args), flags)
			if err != nil {
				return err
			}
			return a.OnTargetIfAny(cmd.Context(), args, func(c *client.Client) error {
				if flags.register {
					return a.register(cmd.Context(), c, req)
				}
				return a.await(cmd.Context(), c, req)
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().StringVar(&flags.condition, "for", "", "the `condition`: idle, busy, waiting, running, stopped or KIND=ARGUMENT (required)")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", 0, "how long to wait (default: no limit; with --register 24h)")
	cmd.Flags().BoolVar(&flags.register, "register", false, "return at once; send a prompt to the owner when the condition is met")
	cmd.Flags().StringVar(&flags.owner, "owner", "", "the `agent` to notify (default: the agent of the session that runs this command)")
	cmd.Flags().StringVar(&flags.text, "text", "", "the `text` of that prompt")
	cmdenv.Words(cmd, "for", append(client.AgentConditions(), "receipt=", "pending=", "time=", "command=")...)
	cmd.AddCommand(waitListCommand(a), waitCancelCommand(a))
	return a.AddJSONFlag(cmd)
}

// condition returns the request for the condition and the other flags of gc wait. Flags that cannot be used together
// are a usage error.
func (a *app) condition(cmd *cobra.Command, target string, flags waitFlags) (client.WaitRequest, error) {
	req := client.WaitRequest{Target: target, Timeout: flags.timeout, Owner: flags.owner, Text: flags.text}
	switch {
	case flags.condition == "":
		return req, cmdenv.Usage(cmd, "missing --for CONDITION: %s", textfmt.List(append(client.AgentConditions(), "receipt=ID", "pending=ID", "time=TIME", "command=COMMAND")))
	case flags.timeout < 0:
		return req, cmdenv.Usage(cmd, "--timeout cannot be negative: %v", flags.timeout)
	case !flags.register && (flags.owner != "" || flags.text != ""):
		return req, cmdenv.Usage(cmd, "--owner and --text are only allowed with --register")
	}
	if flags.register && req.Owner == "" {
		if req.Owner = a.Getenv("GC_AGENT"); req.Owner == "" {
			return req, cmdenv.Usage(cmd, "missing --owner AGENT: GC_AGENT is not set")
		}
	}
	return req, a.parseCondition(cmd, flags.condition, &req)
}

// parseCondition sets the condition and its argument in a request.
func (a *app) parseCondition(cmd *cobra.Command, words string, req *client.WaitRequest) error {
	kind, arg, has := strings.Cut(words, "=")
	switch {
	case slices.Contains(client.AgentConditions(), words):
		if req.For = words; req.Target == "" {
			return cmdenv.Usage(cmd, "missing AGENT, as in: gc wait AGENT --for %s", words)
		}
		return nil
	case has && slices.Contains(client.OtherConditions(), kind):
		if arg == "" {
			return cmdenv.Usage(cmd, "missing the value after %s=", kind)
		}
		req.For, req.Arg = kind, arg
	case strings.ContainsAny(words, " \t\n"):
		req.For, req.Arg = client.WaitCommand, words
	default:
		return cmdenv.Usage(cmd, "%q is not a condition%s (for a command without blanks use: --for command=%s)", words, cmdenv.DidYouMean(words, slices.Concat(client.AgentConditions(), client.OtherConditions())), words)
	}
	if req.For != client.WaitTime {
		return nil
	}
	at, err := a.parseFuture(arg)
	if err != nil {
		return cmdenv.Usage(cmd, "time=%s: %v", arg, err)
	}
	req.Arg = at.UTC().Format(time.RFC3339Nano)
	return nil
}

// parseFuture parses a time: a duration from now, a time of the day (the next one), or a date.
func (a *app) parseFuture(words string) (time.Time, error) {
	now := a.Now()
	if d, err := time.ParseDuration(words); err == nil {
		return now.Add(d), nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if t, err := time.ParseInLocation(layout, words, now.Location()); err == nil {
			at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
			if at.Before(now) {
				at = at.AddDate(0, 0, 1)
			}
			return at, nil
		}
	}
	return textfmt.ParseMoment(now, words)
}

// answerTime is the additional time for the controller's answer after the timeout of a wait.
const answerTime = 2 * time.Second

// await waits for a condition, also across restarts of the controller, and prints the result.
func (a *app) await(parent context.Context, c *client.Client, req client.WaitRequest) error {
	ctx, cancel := parent, context.CancelFunc(func() {})
	if req.Timeout > 0 {
		ctx, cancel = context.WithTimeout(parent, req.Timeout+answerTime)
	}
	defer cancel()
	w, err := awaitCondition(ctx, c, req)
	words := render.Condition(client.Wait{Target: req.Target, For: req.For, Arg: req.Arg})
	switch {
	case parent.Err() != nil:
		return parent.Err()
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w after %s: the condition is not met: %s", client.ErrTimeout, textfmt.Duration(req.Timeout), words)
	case err != nil:
		return err
	}
	return a.printWait(w, words)
}

// awaitCondition calls [client.Client.Await], and again if the controller restarts.
func awaitCondition(ctx context.Context, c *client.Client, req client.WaitRequest) (client.Wait, error) {
	w, err := c.Await(ctx, req)
	for again := isLost(err); again; {
		if err = nextController(ctx, c); err != nil {
			again = isLost(err)
			continue
		}
		w, err = c.Await(ctx, req)
		again = noAnswer(err) // the controller that answered may have been one that is stopping
	}
	return w, err
}

// isLost reports whether an error means that the controller has stopped or is stopping.
func isLost(err error) bool {
	return errors.Is(err, client.ErrLost) || errors.Is(err, client.ErrUnavailable)
}

// nextController waits until a controller answers, at most for [client.ResumeFor].
func nextController(parent context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(parent, client.ResumeFor)
	defer cancel()
	var err error
	for retry.Sleep(ctx, sendRetry) {
		if _, err = c.Status(ctx); err == nil {
			return nil
		}
	}
	return err
}

// printWait prints the result of a wait. If the condition was not met, it returns an error.
func (a *app) printWait(w client.Wait, words string) error {
	if err := a.PrintIfJSON(w); err != nil {
		return err
	}
	if w.State != client.WaitFulfilled {
		return fmt.Errorf("the condition can no longer be met: %s%s", words, render.Because(cmp.Or(w.Reason, "the wait "+w.State)))
	}
	return nil
}

// register stores a wait in the controller and prints it.
func (a *app) register(ctx context.Context, c *client.Client, req client.WaitRequest) error {
	w, err := c.AddWait(ctx, req)
	return a.PrintResult(w, err, fmt.Sprintf("%s will be notified when %s: the wait %s", w.Owner, render.Condition(w), w.ID))
}

func waitListCommand(a *app) *cobra.Command {
	var flags cmdenv.Flags
	return flags.On(a.AddJSONFlag(&cobra.Command{
		Use:   "list",
		Short: "List registered waits",
		Long: `Lists the waits of gc wait --register that are open, with the owner and the condition. With --all it
also lists recently finished ones.`,
		Example: "  gc wait list",
		RunE: cmdenv.List[client.Wait]{
			Ask: func(c *client.Client, ctx context.Context, _ string, which client.Which) ([]client.Wait, error) {
				return c.Waits(ctx, which)
			},
			Format: render.Formatter.Waits, Empty: "no registered waits", Name: "waits",
		}.Run(&a.Base, &flags),
	}))
}

func waitCancelCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel a registered wait",
		Long: `Deletes a registered wait: its owner is not notified. To list the waits: gc wait list. If there is no
such wait, the exit status is 3.`,
		Example: "  gc wait cancel ID",
		Args:    cmdenv.Between(1, 1),
		RunE: a.IDAction(waits, func(ctx context.Context, c *client.Client, id string) error {
			w, err := c.CancelWait(ctx, id)
			return a.PrintResult(w, err, "cancelled the wait: no notification when "+render.Condition(w))
		}),
		ValidArgsFunction: a.Candidates(1, waits),
	})
}

// waits returns the ids of open waits, each with the condition.
func waits(ctx context.Context, c *client.Client) ([]string, error) {
	open, err := c.Waits(ctx, client.OnlyOpen)
	return cmdenv.IDsOf(open, func(w client.Wait) (string, string) { return w.ID, render.Condition(w) }), err
}
