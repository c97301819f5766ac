package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
)

// queueCommand returns "gc queue", which lists prompts and has subcommands.
func queueCommand(a *app) *cobra.Command {
	cmd := queueListCommand(a, "queue [AGENT]")
	cmd.Long = `Lists the prompts that wait or are being delivered, in the order of delivery, with the reason why each
one waits. With AGENT it lists the prompts of that agent only.`
	cmd.Example = "  gc queue worker\n  gc queue edit ID\n  gc queue move ID --first\n  gc queue cancel ID\n  gc queue retry ID"
	list := queueListCommand(a, "list [AGENT]")
	list.Short, list.Long, list.Example = "List queued prompts", `The same as gc queue without a subcommand.`, "  gc queue list coder --all"
	cmd.AddCommand(list, queueEditCommand(a), queueMoveCommand(a), queueCancelCommand(a), queueRetryCommand(a))
	return cmd
}

func queueListCommand(a *app, use string) *cobra.Command {
	var flags cmdenv.Flags
	return flags.On(a.AddJSONFlag(&cobra.Command{
		Use:   use,
		Short: "Manage queued prompts: list, edit, move, cancel, retry",
		Args:  cmdenv.Between(0, 1),
		RunE: cmdenv.List[client.Receipt]{
			Ask: (*client.Client).Queue, Format: render.Formatter.Queue, Empty: "queue is empty", Name: "prompts",
		}.Run(&a.Base, &flags),
		ValidArgsFunction: a.CompleteAgent,
	}))
}

func queueEditCommand(a *app) *cobra.Command {
	var words, priority string
	var ttl time.Duration
	var editor bool
	cmd := &cobra.Command{
		Use:   "edit ID",
		Short: "Edit a queued prompt",
		Long: `Changes the text, the priority or the expiry of a prompt that is still queued. Without a flag it opens
the text in $VISUAL or $EDITOR. The prompt keeps its ID and its place. If its delivery has begun
meanwhile, the change is refused (exit status 4) and nothing changes.`,
		Example: "  gc queue edit ID\n  gc queue edit ID --text 'do it tomorrow' --priority urgent",
		Args:    cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var req client.EditRequest
			if cmd.Flags().Changed("text") {
				prompt, err := a.prompt(cmd, words)
				if err != nil {
					return err
				}
				req.Text = &prompt
			}
			if cmd.Flags().Changed("ttl") {
				if ttl <= 0 {
					return cmdenv.Usage(cmd, "--ttl must be more than zero; to cancel the prompt: gc queue cancel %s", args[0])
				}
				req.TTL = &ttl
			}
			if priority != "" {
				req.Priority = &priority
			}
			if err := cmdenv.OneOf(cmd, "--priority", priority, client.Priorities()...); err != nil {
				return err
			}
			if editor && req.Text != nil {
				return cmdenv.Usage(cmd, "--editor cannot be used with --text")
			}
			if req == (client.EditRequest{}) && !editor {
				if editor = a.IsTerminal(a.Stdin) && a.IsTerminal(a.Stdout); !editor {
					return cmdenv.Usage(cmd, "nothing to change: give --text, --priority or --ttl")
				}
			}
			req.By = a.self()
			return a.onReceipt(cmd.Context(), args[0], func(c *client.Client) error {
				if editor {
					text, err := a.editPrompt(cmd, c, args[0])
					if err != nil {
						return err
					}
					if req.Text = text; text == nil && req.Priority == nil && req.TTL == nil {
						a.Messagef("the prompt %s is unchanged", args[0])
						return nil
					}
				}
				r, err := c.EditPrompt(cmd.Context(), args[0], req)
				return a.printChange(r, err, "changed the prompt "+args[0])
			})
		},
		ValidArgsFunction: a.Candidates(1, receipts(client.OnlyOpen)),
	}
	cmd.Flags().StringVar(&words, "text", "", "the new `text`, \"-\" for standard input")
	cmd.Flags().BoolVar(&editor, "editor", false, "open the text in an editor even if standard input is no terminal")
	cmd.Flags().StringVar(&priority, "priority", "", "the `priority` in the queue: system, urgent or normal")
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "give up if the prompt is not delivered within this time from now")
	cmdenv.Words(cmd, "priority", client.Priorities()...)
	return a.AddJSONFlag(cmd)
}

// editPrompt opens the text of a queued prompt in the person's editor and returns the new text; nil if it is the same.
func (a *app) editPrompt(cmd *cobra.Command, c *client.Client, id string) (*string, error) {
	old, err := c.PromptText(cmd.Context(), id)
	if err != nil {
		return nil, err
	}
	words, err := a.editText(cmd.Context(), old.Text)
	if err != nil {
		return nil, err
	}
	if words == old.Text {
		return nil, nil //nolint:nilnil // documented
	}
	if err := client.CheckPrompt(words); err != nil {
		return nil, fmt.Errorf("nothing was changed: %w", err)
	}
	return &words, nil
}

func queueMoveCommand(a *app) *cobra.Command {
	var req client.MoveRequest
	cmd := &cobra.Command{
		Use:   "move ID",
		Short: "Change the order of queued prompts",
		Long: `Moves a queued prompt before another one of the same agent and priority, or to the first or the last
place of its priority. Prompts of a higher priority still go first. The prompt keeps its ID. If its
delivery has begun meanwhile, the change is refused (exit status 4) and nothing changes.`,
		Example: "  gc queue move ID --first\n  gc queue move ID --before OTHER-ID\n  gc queue move ID --last",
		Args:    cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := req.Check(args[0]); err != nil {
				return cmdenv.Usage(cmd, "give exactly one of --before, --first and --last; --before needs the ID of another prompt")
			}
			req.By = a.self()
			return a.onReceipt(cmd.Context(), args[0], func(c *client.Client) error {
				r, err := c.MovePrompt(cmd.Context(), args[0], req)
				return a.printChange(r, err, fmt.Sprintf("moved the prompt %s to position %d", args[0], r.Position))
			})
		},
		ValidArgsFunction: a.Candidates(1, receipts(client.OnlyOpen)),
	}
	cmd.Flags().StringVar(&req.Before, "before", "", "deliver it before the prompt with this `ID`")
	cmd.Flags().BoolVar(&req.First, "first", false, "deliver it first of its priority")
	cmd.Flags().BoolVar(&req.Last, "last", false, "deliver it last of its priority")
	return a.AddJSONFlag(cmd)
}

func queueCancelCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "cancel ID...",
		Short: "Cancel prompts that the agent has not accepted",
		Long: `Cancels prompts that wait or are being delivered. If a prompt is being delivered, gc stops the delivery
and removes the text from the agent's input box. If gc cannot prove that the text was removed, the
prompt gets the status unconfirmed: the agent may have got it. A prompt that the agent has accepted
cannot be cancelled; to end the agent's turn: gc interrupt AGENT`,
		Example: "  gc queue cancel ID",
		Args:    cmdenv.Between(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var errs []error
			var done []client.Receipt
			for _, id := range args {
				errs = append(errs, a.onReceipt(cmd.Context(), id, func(c *client.Client) error {
					r, err := c.CancelPrompt(cmd.Context(), id)
					if err != nil {
						return err
					}
					done = append(done, r)
					if r.State == client.ReceiptCancelled {
						a.Messagef("cancelled the prompt %s", id)
					} else {
						a.Messagef("the prompt %s was not cancelled: it is %s%s", id, r.State, render.Because(r.Reason))
					}
					return nil
				}))
			}
			return errors.Join(append(errs, a.PrintIfJSON(cmdenv.Rows("prompts", done)))...)
		},
		ValidArgsFunction: a.Candidates(-1, receipts(client.OnlyOpen)),
	})
}

func queueRetryCommand(a *app) *cobra.Command {
	var req client.RetryRequest
	cmd := &cobra.Command{
		Use:   "retry ID",
		Short: "Send a prompt again that was not delivered",
		Long: `Sends the text of a dead, expired or cancelled prompt once more, as a new prompt with its own ID.
The new receipt names the old prompt. If the prompt is unconfirmed (the agent may have it) or
submitted (the agent has accepted it), the text may arrive twice: check with gc peek first, then
use --force.`,
		Example: "  gc queue retry ID\n  gc queue retry ID --force",
		Args:    cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Source, req.Key = a.self(), "gc-"+rand.Text()
			return a.onReceipt(cmd.Context(), args[0], func(c *client.Client) error {
				r, err := c.RetryPrompt(cmd.Context(), args[0], req)
				return a.printChange(r, err, fmt.Sprintf("queued again as %s", r.ID))
			})
		},
		ValidArgsFunction: a.Candidates(1, receipts(client.WithEnded)),
	}
	cmd.Flags().BoolVar(&req.AllowChanges, "allow-changes", false, "send the text even if the agent's input box changes it")
	cmd.Flags().BoolVar(&req.Force, "force", false, "even if the agent may have got the prompt; it may arrive twice")
	return a.AddJSONFlag(cmd)
}

// printChange prints the result of a command on one receipt.
func (a *app) printChange(r client.Receipt, err error, success string) error {
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSONLine(r)
	}
	a.Messagef("%s", success)
	return nil
}

// receipts returns the ids of prompts, each with the agent and the text.
func receipts(which client.Which) cmdenv.IDs {
	return func(ctx context.Context, c *client.Client) ([]string, error) {
		queued, err := c.Queue(ctx, "", which)
		return cmdenv.IDsOf(queued, func(r client.Receipt) (string, string) { return r.ID, r.Agent + ": " + render.FirstLine(r.Text) }), err
	}
}

// onReceipt calls verb with a client; id names the receipt on which verb acts. A "not found" error gets
// suggestions.
func (a *app) onReceipt(ctx context.Context, id string, verb func(*client.Client) error) error {
	return a.OnID(ctx, id, receipts(client.WithEnded), verb)
}

func receiptCommand(a *app) *cobra.Command {
	var until waitLimit
	var verbose bool
	cmd := &cobra.Command{
		Use:   "receipt ID",
		Short: "Show a prompt's delivery status",
		Long: `Shows the delivery status of a prompt with every step. ID is the one that gc send and gc queue print.
With --wait it waits until the prompt is submitted (accepted by the agent) or consumed (processed), and
the exit status is that of gc send. Without --wait the exit status is 0 for any delivery status.`,
		Example: "  gc receipt ID\n  gc receipt ID --wait consumed --timeout 10m",
		Args:    cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := until.check(cmd); err != nil {
				return err
			}
			if until.state == "" && until.timeout > 0 {
				return cmdenv.Usage(cmd, "--timeout is only allowed with --wait")
			}
			return a.onReceipt(cmd.Context(), args[0], func(c *client.Client) error {
				r, err := c.Receipt(cmd.Context(), args[0], "")
				if err == nil && until.state != "" {
					return a.finishReceipt(cmd.Context(), c, r, until)
				}
				return a.Show(r, err, func(s render.Formatter) string { s.Verbose = verbose; return s.Receipt(r) })
			})
		},
		ValidArgsFunction: a.Candidates(1, receipts(client.WithEnded)),
	}
	cmd.Flags().StringVar(&until.state, "wait", "", "wait until the prompt is in this `state`: submitted or consumed")
	cmd.Flags().DurationVar(&until.timeout, "timeout", 0, "how long to wait for the receipt's state (default: 5m)")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also show the evidence for the status")
	cmdenv.Words(cmd, "wait", client.ReceiptSubmitted, client.ReceiptConsumed)
	return a.AddJSONFlag(cmd)
}
