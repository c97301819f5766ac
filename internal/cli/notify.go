package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
)

func notifyCommand(a *app) *cobra.Command {
	return cmdenv.Group("notify", "List and test notifications", `Notifications are messages to your phone, chat, desktop or mailbox: an agent needs you, has finished or
has failed. Each [[notify]] section of city.toml is a sink, see docs/how-to/notifications.md.`,
		notifyListCommand(a), notifyTestCommand(a), notifyRetryCommand(a))
}

func notifyListCommand(a *app) *cobra.Command {
	var failed bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sinks and the recent notifications",
		Long: `Lists the sinks of city.toml, each with the number of its unconfirmed notifications, and the
notifications of the last 7 days, newest first. The states are sending (it is tried again after a
failure), sent (the sink has confirmed it), failed (it is not tried again) and dropped (the agent did
not need a person any more, or the sink was removed).`,
		Example: "  gc notify list\n  gc notify list --failed --json",
		RunE: a.CityAction(func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := c.Notifications(ctx)
			if err != nil {
				return err
			}
			if failed {
				list.Notifications = withError(list.Notifications)
			}
			if len(list.Sinks) == 0 && len(list.Notifications) == 0 && !a.JSON {
				a.Messagef("no sinks; to add one, write [[notify]] into %s", client.CityFile)
				return nil
			}
			if list.Present > 0 {
				a.Messagef("gc top has the focus: sinks without while_attached get nothing meanwhile")
			}
			return a.Show(list, nil, func(s render.Formatter) string { return s.Notifications(list) })
		}),
	}
	cmd.Flags().BoolVar(&failed, "failed", false, "only those that failed, and those that are tried again")
	return a.AddJSONFlag(cmd)
}

// withError returns the notifications whose last attempt to send them failed. It leaves out dropped ones, which are not
// sent any more because the agent no longer needs a person.
func withError(all []client.Notification) []client.Notification {
	out := []client.Notification{}
	for _, n := range all {
		if n.Error != "" && n.State != client.NotifyDropped {
			out = append(out, n)
		}
	}
	return out
}

func notifyTestCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "test [SINK]",
		Short: "Send a test message to one sink or to all",
		Long: `Sends a test message to one sink, or to all sinks of city.toml, and shows whether each has confirmed it.
The message is sent once and without delay: the keys for, quiet and batch of the sink have no effect,
and gc does not try again. If a sink does not confirm the message, the exit status is 1. If there is no
such sink, the exit status is 3.`,
		Example: "  gc notify test\n  gc notify test phone",
		Args:    cmdenv.Between(0, 1),
		RunE: a.CityAction(func(ctx context.Context, c *client.Client, args []string) error {
			results, err := c.TestNotify(ctx, client.NotifyTestRequest{Sink: cmdenv.First(args)})
			if err := a.Show(cmdenv.Rows("results", results), err, func(s render.Formatter) string { return s.NotifyResults(results) }); err != nil {
				return err
			}
			var failed []error
			for _, r := range results {
				if r.Error != "" {
					failed = append(failed, fmt.Errorf("the sink %q did not confirm the message: %s", r.Sink, r.Error))
				}
			}
			return errors.Join(failed...)
		}),
		ValidArgsFunction: a.Candidates(1, notifySinks),
	})
}

func notifyRetryCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "retry ID",
		Short: "Send a failed notification again",
		Long: `Sends a failed notification again, with the same id, after you have corrected the cause. If the agent
does not need a person any more, it is not sent. If there is no such notification, the exit status is 3.`,
		Example: "  gc notify retry n-2b7xk5q3v4nlu6ae",
		Args:    cmdenv.Between(1, 1),
		RunE: a.IDAction(failedNotifications, func(ctx context.Context, c *client.Client, id string) error {
			n, err := c.RetryNotification(ctx, id)
			return a.PrintResult(n, err, fmt.Sprintf("%s is sent to %s again", n.ID, n.Sink))
		}),
		ValidArgsFunction: a.Candidates(1, failedNotifications),
	})
}

// notifySinks returns the names of the sinks, each with its type.
func notifySinks(ctx context.Context, c *client.Client) ([]string, error) {
	all, err := c.Notifications(ctx)
	return cmdenv.IDsOf(all.Sinks, func(s client.NotifySink) (string, string) { return s.Name, s.Type }), err
}

// failedNotifications returns the ids of failed notifications, each with its sink.
func failedNotifications(ctx context.Context, c *client.Client) ([]string, error) {
	all, err := c.Notifications(ctx)
	failed := slices.DeleteFunc(all.Notifications, func(n client.Notification) bool { return n.State != client.NotifyFailed })
	return cmdenv.IDsOf(failed, func(n client.Notification) (string, string) { return n.ID, n.Sink }), err
}
