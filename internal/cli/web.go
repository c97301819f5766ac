package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
)

// webStarted is the output of gc web --json.
type webStarted struct {
	client.Web
	client.WebCode

	File string `json:"file"` // opens the link in a browser
}

func webCommand(a *app) *cobra.Command {
	var start client.WebRequest
	var code client.WebCodeRequest
	var scope string
	var open, startPage bool
	cmd := &cobra.Command{
		Use:   "web",
		Short: "Start the web console and print a link to sign in",
		Long: `Starts the web console of the running city if it is off, and prints a link that signs one browser in.
The link works once, within 60 seconds. It is a secret until then. The web console stays on, also after
a restart of the controller, until gc web stop.

Browsers on this machine reach it. For other devices, put a proxy with a certificate in front, write its
name into hosts in [web] of city.toml, and use --host. A device has a scope: see, answer (also answer
questions), type (also send prompts and keys) or manage (everything).

In a directory without a city, --start serves a page on which you choose a folder and an agent CLI,
start the city and send the first prompt. The page then continues as the web console of that city.

The link is secret, and every program on this machine can read the arguments of a browser. So gc also
writes a file that only you can read (mode 0600) and that forwards a browser to the link. --open opens
this file.

With --dev, gc serves the pages from the sources in a checkout of gc, so that a reload of the page
shows a change. It is refused if other hosts can reach the web console.`,
		Example: "  gc web\n  gc web --open\n  gc web --start --open\n  gc web --host box.example.ts.net --scope answer\n  gc web --listen 127.0.0.1:8420\n  gc web devices",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmdenv.OneOf(cmd, "--scope", scope, scopeWords()...); err != nil {
				return err
			}
			code.Scope = client.Scope(scope)
			if start.Dev != "" {
				start.Dev = a.Path(start.Dev)
			}
			if _, err := a.Root(); errors.Is(err, client.ErrNotFound) {
				if !startPage {
					if err := a.askForStartPage(err); err != nil {
						return err
					}
				}
				return a.webStart(cmd, start, open)
			}
			return a.OnCity(func(c *client.Client) error {
				on, err := c.StartWeb(cmd.Context(), start)
				if err != nil {
					return err
				}
				made, err := c.NewWebCode(cmd.Context(), code)
				if err != nil {
					return err
				}
				return a.showLink(cmd.Context(), c.Root, webStarted{Web: on, WebCode: made}, open)
			})
		},
	}
	cmd.Flags().StringVar(&start.Listen, "listen", "", "listen on this `address` and port; port 0: any free one (default: listen in [web] of city.toml, or the last one)")
	cmd.Flags().StringVar(&start.Dev, "dev", "", "for people who change the pages: serve those of the checkout in this `directory`, until gc web stop")
	cmd.Flags().StringVar(&code.Host, "host", "", "the link is for this `name`, one of hosts in [web] of city.toml")
	cmd.Flags().StringVar(&scope, "scope", string(client.ScopeManage), "the highest `scope` of the device: see, answer, type or manage")
	cmd.Flags().BoolVar(&open, "open", false, "open the link in the browser of this machine")
	cmd.Flags().BoolVar(&startPage, "start", false, "if there is no city here, make one in the browser")
	cmdenv.Words(cmd, "scope", scopeWords()...)
	cmd.AddCommand(webStopCommand(a), webDevicesCommand(a))
	return a.AddJSONFlag(cmd)
}

// noArgs returns an error if there are arguments: the first one is an unknown subcommand.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cmdenv.UnknownCommand(cmd, args[0])
	}
	return nil
}

// scopeWords returns the scopes as words.
func scopeWords() []string {
	var words []string
	for _, s := range client.Scopes() {
		words = append(words, string(s))
	}
	return words
}

// showLink prints the link and writes the file that opens it.
func (a *app) showLink(ctx context.Context, root string, out webStarted, open bool) (err error) {
	if out.File, err = a.daemon.SaveWebLink(root, out.Link); err != nil {
		return err
	}
	if open {
		if err := a.daemon.OpenFile(ctx, out.File); err != nil {
			return fmt.Errorf("cannot open a browser: %w; open this link by hand within 60 seconds: %s", err, out.Link)
		}
	}
	err = a.Show(out, nil, func(render.Formatter) string { return out.Link + "\n" })
	if out.Dev != "" {
		a.Messagef("The pages are those of the checkout %s, until gc web stop.", out.Dev)
	}
	a.Messagef("The link signs one browser in, within 60 seconds, with the scope %s. To open it with a file instead: %s", out.Scope, out.File)
	return err
}

func webStopCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "stop",
		Short: "Stop the web console",
		Long: `Stops the web console and ends its open pages, streams and terminals. Devices stay signed in for the
next start. If city.toml enables the web console, the next controller starts it again.`,
		Example: "  gc web stop",
		RunE: a.CityAction(func(ctx context.Context, c *client.Client, _ []string) error {
			out, err := c.StopWeb(ctx)
			return a.PrintResult(out, err, "the web console is off")
		}),
	})
}

func webDevicesCommand(a *app) *cobra.Command {
	cmd := webDeviceListCommand(a, "devices")
	cmd.Long = `Lists the browsers that are signed in to the web console, with their scopes, the last use and the number
of open requests. A device that is not used for 30 days is signed out.`
	cmd.Example = "  gc web devices\n  gc web devices revoke d-1a2b3c4d"
	cmd.Args = noArgs
	list := webDeviceListCommand(a, "list")
	list.Short, list.Long, list.Example = "List the devices", "The same as gc web devices without a subcommand.", "  gc web devices list"
	cmd.AddCommand(list, webRevokeCommand(a))
	return cmd
}

func webDeviceListCommand(a *app, use string) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   use,
		Short: "List and revoke the devices of the web console",
		RunE: cmdenv.List[client.WebDevice]{
			Ask: func(c *client.Client, ctx context.Context, _ string, _ client.Which) ([]client.WebDevice, error) {
				return c.WebDevices(ctx)
			},
			Format: render.Formatter.WebDevices, Empty: "no device is signed in; to sign one in: gc web", Name: "devices",
		}.Run(&a.Base, &cmdenv.Flags{}),
	})
}

func webRevokeCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "revoke ID...",
		Short: "Sign devices out of the web console",
		Long: `Signs devices out and ends their open streams and terminals at once. To sign such a device in again, use
a new link from gc web. If there is no such device, the exit status is 3.`,
		Example: "  gc web devices revoke d-1a2b3c4d",
		Args:    cmdenv.Between(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var done []client.WebDevice
			for _, id := range args {
				err := a.OnID(cmd.Context(), id, webDeviceIDs, func(c *client.Client) error {
					d, err := c.RevokeWebDevice(cmd.Context(), id)
					if err == nil {
						done = append(done, d)
						a.Messagef("signed out %s (%s)", d.ID, d.Name)
					}
					return err
				})
				if err != nil {
					return err
				}
			}
			return a.PrintIfJSON(cmdenv.Rows("devices", done))
		},
		ValidArgsFunction: a.Candidates(-1, webDeviceIDs),
	})
}

// webDeviceIDs returns the ids of the devices, each with its name.
func webDeviceIDs(ctx context.Context, c *client.Client) ([]string, error) {
	devices, err := c.WebDevices(ctx)
	return cmdenv.IDsOf(devices, func(d client.WebDevice) (string, string) { return d.ID, d.Name }), err
}
