package agentcli

import (
	"regexp"
	"slices"
	"strings"
)

// Channel says how to run an agent CLI as two processes: a server, and a client that shows the
// conversation in the terminal. gc sends prompts to the server instead of typing them into the
// terminal. In the zero value, the agent CLI has no server.
type Channel struct {
	// Server are the arguments that start the program as a server, after its options. The server
	// uses JSON-RPC on its standard input and output, one message per line.
	Server []string
	// Connect are the arguments that start the program as a terminal client, before its options.
	// [MarkSocket] is replaced by the path of the socket.
	Connect []string
	// Flags are the options without a value that both server and client accept, Values the options
	// with a value. A command line with any other option is not split.
	Flags  []string
	Values []string
	// Dropped are the options that neither process gets, because they only concern a program
	// without a separate server.
	Dropped []string
	// Resume is the subcommand with which the client continues a conversation. The client then
	// refuses the options in NotWithResume; the server gets them.
	Resume        string
	NotWithResume []string
}

// ChannelTyped is used in place of an agent CLI's name. It means that prompts are typed although
// the agent CLI has a native channel.
const ChannelTyped = "typed"

// NativeChannel returns through what the prompts get to the agent CLI of a family without being
// typed, as words that can follow "by" in a message. It is empty if prompts are typed.
func NativeChannel(family string) string {
	return map[string]string{
		"codex":    "codex's server",          // gc's own program runs it, see [ChannelOf]
		"opencode": "gc's plugin in opencode", // the plugin runs in its terminal client
		"pi":       "gc's extension of pi",
	}[family]
}

// MarkSocket is the placeholder for the path of the socket in [Channel.Connect].
const MarkSocket = "{socket}"

// ChannelOf returns how to run the agent CLI of a family as a server and a client; ok is false if
// that is not possible.
func ChannelOf(family string) (c Channel, ok bool) {
	if family != "codex" {
		return Channel{}, false
	}
	return Channel{ // measured with 0.169.0
		Server:  []string{"app-server", "--listen", "stdio://"},
		Connect: []string{"--remote", "unix://" + MarkSocket},
		Flags:   []string{"--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", "--oss", "--approve-for-me", "--strict-config", "--search", "--no-alt-screen"},
		Values: []string{
			"-c", "--config", "-m", "--model", "-p", "--profile", "-s", "--sandbox", "-a", "--ask-for-approval", "-C", "--cd",
			"--enable", "--disable", "--local-provider", "--add-dir",
		},
		Dropped:       []string{"--no-daemon"},
		Resume:        "resume",
		NotWithResume: []string{"--dangerously-bypass-approvals-and-sandbox", "-s", "--sandbox", "-a", "--ask-for-approval", "--approve-for-me"},
	}, true
}

// option is one option of a command line: one word, or two if its value is a word of its own.
type option []string

// name returns the name of the option, without a value that follows "=".
func (o option) name() string {
	name, _, _ := strings.Cut(o[0], "=")
	return name
}

// subcommand matches a word that may be a subcommand of the agent CLI and is not certain to be a
// prompt.
var subcommand = regexp.MustCompile(`^[a-z][a-z-]*$`)

// Split divides a command line of the agent CLI, without the name of the program, into the
// arguments of the server and those of the client. socket is the path at which the client connects.
// ok is false if the command line has an option or a subcommand that gc does not know; the agent
// CLI must then run as one process.
func (c Channel) Split(args []string, socket string) (server, client []string, ok bool) {
	options, words, ok := c.parse(args)
	resumes := len(words) > 1 && words[0] == c.Resume && c.Resume != ""
	if !ok || !resumes && len(words) > 0 && subcommand.MatchString(words[0]) || resumes && len(words) > 3 || !resumes && len(words) > 1 {
		return nil, nil, false
	}
	for _, arg := range c.Connect {
		client = append(client, strings.ReplaceAll(arg, MarkSocket, socket))
	}
	for _, o := range options {
		if slices.Contains(c.Dropped, o.name()) {
			continue
		}
		server = append(server, o...)
		if !resumes || !slices.Contains(c.NotWithResume, o.name()) {
			client = append(client, o...)
		}
	}
	return append(server, c.Server...), append(client, words...), true
}

// parse divides the arguments of a command line into options and other words. ok is false if an
// option is not known.
func (c Channel) parse(args []string) (options []option, words []string, ok bool) {
	for len(args) > 0 {
		arg := args[0]
		name, _, joined := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return options, append(words, args[1:]...), true
		case !strings.HasPrefix(arg, "-") || arg == "-":
			words, args = append(words, arg), args[1:]
		case slices.Contains(c.Values, arg) && len(args) > 1:
			options, args = append(options, args[:2:2]), args[2:]
		case joined && slices.Contains(c.Values, name), slices.Contains(c.Flags, arg), slices.Contains(c.Dropped, arg):
			options, args = append(options, args[:1:1]), args[1:]
		default:
			return nil, nil, false
		}
	}
	return options, words, true
}
