package promptcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

func pendingCommand(a *app) *cobra.Command {
	var flags cmdenv.Flags
	return flags.On(a.AddJSONFlag(&cobra.Command{
		Use:   "pending [AGENT]",
		Short: "List questions that agents ask you",
		Long: `Shows each question or approval that blocks an agent, with its exact text, its options, and what happens
without an answer. With AGENT it shows the questions of that agent only. Without questions it prints a
message and the exit status is 0. Answer with: gc respond ID OPTION`,
		Example: "  gc pending\n  gc pending coder\n  gc pending --watch",
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnTargetIfAny(cmd.Context(), args, func(c *client.Client) error {
				list := cmdenv.List[client.Pending]{
					Ask: func(ctx context.Context) ([]client.Pending, error) {
						return c.Pending(ctx, cmdenv.First(args), flags.Which())
					},
					Format: render.Formatter.Pending,
					Empty:  "no pending questions",
					Name:   "pending",
				}
				return list.Show(cmd.Context(), a.Renderer, c, flags)
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}))
}

// questions returns the ids of open questions, each with a tab and its text.
func questions(ctx context.Context, c *client.Client) ([]string, error) {
	list, err := c.Pending(ctx, "", client.OnlyOpen)
	var ids []string
	for _, p := range list {
		ids = append(ids, p.ID+"\t"+textfmt.OneLine(p.Agent+": "+render.FirstLine(p.Prompt)))
	}
	return ids, err
}

func respondCommand(a *app) *cobra.Command {
	var words string
	cmd := &cobra.Command{
		Use:   "respond ID OPTION",
		Short: "Answer an agent's question",
		Long: `Answers a question with the number or the label of an option, or with a text: --text. To list the
questions: gc pending. A question can be answered only once: if it has been answered elsewhere, or its
agent has stopped, the answer is refused with exit status 4.`,
		Example: "  gc respond ID 1\n  gc respond ID 'Yes, this time'\n  gc respond ID --text 'use the other branch'",
		Args:    cmdenv.Between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := client.RespondRequest{Text: words, By: a.self()}
			if len(args) > 1 {
				req.Option = args[1]
			}
			if (req.Option == "") == (req.Text == "") {
				return cmdenv.Usage(cmd, "missing OPTION or --text; gc pending shows the options")
			}
			return a.OnID(cmd.Context(), args[0], questions, func(c *client.Client) error {
				p, err := c.Respond(cmd.Context(), args[0], req)
				if err != nil {
					return err
				}
				return a.printAnswer(p)
			})
		},
		ValidArgsFunction: a.completeAnswer,
	}
	cmd.Flags().StringVar(&words, "text", "", "answer with this `text`")
	return a.AddJSONFlag(cmd)
}

// printAnswer prints the result of an answered question.
func (a *app) printAnswer(p client.Pending) error {
	if a.JSON {
		if err := a.PrintJSON(p); err != nil {
			return err
		}
	}
	switch p.State {
	case client.PendingAnswered:
		if !a.JSON {
			a.Messagef("answered %s with %q", textfmt.OneLine(p.Agent), p.Answer)
		}
		return nil
	case client.PendingOpen:
		return fmt.Errorf("%w: the answer was sent, but %s still shows the question; check with: gc peek %s", client.ErrTimeout, p.Agent, p.Agent)
	}
	return fmt.Errorf("%w: the question of %s has changed to %s", client.ErrRefused, p.Agent, p.State)
}

// completeAnswer completes the id, then the options of that question.
func (a *app) completeAnswer(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.Candidates(1, questions)(cmd, args, word)
	}
	return a.Candidates(2, func(ctx context.Context, c *client.Client) ([]string, error) {
		list, err := c.Pending(ctx, "", client.OnlyOpen)
		var options []string
		for _, p := range list {
			if p.ID != args[0] {
				continue
			}
			for n, option := range p.Options {
				options = append(options, fmt.Sprintf("%d\t%s", n+1, textfmt.OneLine(option)))
			}
		}
		return options, err
	})(cmd, args, word)
}
