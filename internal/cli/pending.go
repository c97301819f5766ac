package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

func pendingCommand(a *app) *cobra.Command {
	var flags cmdenv.Flags
	var verbose bool
	cmd := flags.On(a.AddJSONFlag(&cobra.Command{
		Use:   "pending [AGENT]",
		Short: "List questions that agents ask you",
		Long: `Shows each question or approval that blocks an agent, with its exact text, its options, and what happens
without an answer. If it is about a tool call, it shows what the call would do and what the rules of the
guard say; -v adds the decision on each program and file. With AGENT it shows that agent's questions
only. If there are no questions, it prints a message, and the exit status is 0. If gc does not know the
activity of an agent, it may not see its questions; a message names such agents. Answer with:
gc respond ID OPTION`,
		Example: "  gc pending\n  gc pending coder\n  gc pending --watch",
		Args:    cmdenv.Between(0, 1),
		RunE: cmdenv.List[client.Pending]{
			Ask: (*client.Client).Pending,
			Format: func(s render.Formatter, list []client.Pending) string {
				s.Verbose = verbose
				return s.Pending(list)
			},
			Empty: "no pending questions", Note: unseenQuestions, Name: "pending",
		}.Run(&a.Base, &flags),
		ValidArgsFunction: a.CompleteAgent,
	}))
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also show the decision of the guard on each program and file")
	return cmd
}

// unseenQuestions returns a message that names the agents that may ask something that gc does not see: they run, and gc does not
// know what they do. Those whose prompts wait because they seem to ask have a line each, with the question. It is empty if there are none. A name limits it to that agent.
func unseenQuestions(ctx context.Context, c *client.Client, name string) string {
	status, err := c.Status(ctx)
	if err != nil {
		return "" // the list is complete without it
	}
	prompts, _ := c.Queue(ctx, "", client.OnlyOpen) // the same
	var unseen, asking []string
	for _, agent := range status.Agents {
		unknown := agent.State == client.StateRunning && agent.Pending == 0 && (agent.Activity.State == "" || agent.Activity.State == "unknown")
		if !unknown || name != "" && !cmdenv.Named(agent, name) {
			continue
		}
		if asks := seemsToAsk(agent, prompts); asks != "" {
			title := textfmt.OneLine(agent.Name)
			asking = append(asking, fmt.Sprintf("a prompt for %s waits, because %s; to answer: gc attach %s", title, asks, title))
			continue
		}
		unseen = append(unseen, agent.Name)
	}
	return strings.Join(append(asking, unseenMessage(unseen)...), "\n")
}

// seemsToAsk returns the reason why a prompt of an agent waits, if it is a question that the program seems to ask; empty if it is
// not.
func seemsToAsk(agent client.Agent, prompts []client.Receipt) string {
	for _, r := range prompts {
		if r.Agent == agent.Name {
			if asks, _ := strings.CutPrefix(r.Reason, client.RefusalDialog+": "); strings.HasPrefix(asks, "the program seems to ask: ") {
				return textfmt.OneLine(asks)
			}
		}
	}
	return ""
}

// unseenMessage returns the message about agents whose questions gc does not see; none without agents.
func unseenMessage(unseen []string) []string {
	switch len(unseen) {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("gc does not see whether %s asks something, because its activity is unknown; look with: gc peek %s", textfmt.OneLine(unseen[0]), textfmt.OneLine(unseen[0]))}
	}
	return []string{fmt.Sprintf("gc does not see whether these agents ask something, because their activity is unknown: %s; look with: gc peek AGENT", textfmt.List(unseen))}
}

// questions returns the ids of open questions, each with its text.
func questions(ctx context.Context, c *client.Client) ([]string, error) {
	open, err := c.Pending(ctx, "", client.OnlyOpen)
	return cmdenv.IDsOf(open, func(p client.Pending) (string, string) { return p.ID, p.Agent + ": " + render.FirstLine(p.Prompt) }), err
}

func respondCommand(a *app) *cobra.Command {
	var words string
	var always, yes bool
	cmd := &cobra.Command{
		Use:   "respond ID OPTION",
		Short: "Answer an agent's question",
		Long: `Answers a question with the number or the label of an option, or with a text: --text. To list the
questions: gc pending. A question can be answered only once: if it has been answered elsewhere, or its
agent has stopped, the answer is refused with exit status 4.

--always allows a tool call that the guard asks about, now and from now on: it shows the rule for
city.toml, and adds it after a confirmation. The rule allows exactly this call of this agent.`,
		Example: "  gc respond ID 1\n  gc respond ID 'Yes, this time'\n  gc respond ID --text 'use the other branch'\n  gc respond ID --always",
		Args:    cmdenv.Between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := client.RespondRequest{Option: cmdenv.First(args[1:]), Text: words, By: a.self()}
			switch {
			case always && (len(args) > 1 || words != ""):
				return cmdenv.Usage(cmd, "--always is an answer itself; leave out OPTION and --text")
			case always:
				return a.OnID(cmd.Context(), args[0], questions, func(c *client.Client) error { return a.allowAlways(cmd.Context(), c, args[0], yes) })
			case (req.Option == "") == (req.Text == ""):
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
	cmd.Flags().BoolVar(&always, "always", false, "allow this tool call of this agent always, by a rule")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --always: write the rule without asking")
	return a.AddJSONFlag(cmd)
}

// allowAlways shows the rule of a question and, after a confirmation, adds it to city.toml and
// answers the question.
func (a *app) allowAlways(ctx context.Context, c *client.Client, id string, yes bool) error {
	list, err := c.Pending(ctx, "", client.WithEnded)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(p client.Pending) bool { return p.ID == id })
	var rule client.GuardRule // the server refuses the empty one with the reason
	if i >= 0 && list[i].Guard != nil && list[i].Guard.Always != nil {
		rule = *list[i].Guard.Always
		if err := a.confirmRule(rule, yes); err != nil {
			return err
		}
	}
	p, err := c.AllowAlways(ctx, id, client.AlwaysRequest{Rule: cmp.Or(rule.ID, "none"), By: a.self()})
	if err != nil {
		return err
	}
	return a.printAnswer(p)
}

// confirmRule shows a rule and asks for confirmation unless yes is set.
func (a *app) confirmRule(rule client.GuardRule, yes bool) error {
	a.Messagef("this rule is added to %s:\n\n%s", rule.File, textfmt.Indent(rule.Text, 2))
	if yes {
		return nil
	}
	return a.askFor("allow this always for "+textfmt.OneLine(rule.Agent)+"?",
		"check the rule, then run the command with --yes", "you did not confirm, so no rule was added and the question is still open")
}

// askFor asks for a confirmation on the terminal. Without a terminal the error has the remedy noTerminal, and without the confirmation
// it says what declined says; both errors match [client.ErrRefused].
func (a *app) askFor(question, noTerminal, declined string) error {
	if !a.IsTerminal(a.Stdin) {
		return fmt.Errorf("%w: standard input is not a terminal; %s", client.ErrRefused, noTerminal)
	}
	if !a.confirms(question) {
		return fmt.Errorf("%w: %s", client.ErrRefused, declined)
	}
	return nil
}

// confirms asks a question on the terminal and reports whether the person answers yes.
func (a *app) confirms(question string) bool {
	a.Messagef("%s [y/N]", question)
	answer, err := bufio.NewReader(a.Stdin).ReadString('\n')
	word := strings.ToLower(strings.TrimSpace(answer))
	return err == nil && (word == "y" || word == "yes")
}

// printAnswer prints whether an answer was accepted. It returns an error, which sets the exit status, if the agent
// still shows the question or the question was closed in another way.
func (a *app) printAnswer(p client.Pending) error {
	if err := a.PrintIfJSON(p); err != nil {
		return err
	}
	switch p.State {
	case client.PendingAnswered:
		a.Messagef("answered %s with %q", textfmt.OneLine(p.Agent), p.Answer)
		return nil
	case client.PendingOpen:
		return fmt.Errorf("%w: the answer was sent, but %s still shows the question; check with: gc peek %s", client.ErrTimeout, p.Agent, p.Agent)
	}
	return fmt.Errorf("%w: the answer was not accepted: the question of %s is now %s", client.ErrRefused, p.Agent, p.State)
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
