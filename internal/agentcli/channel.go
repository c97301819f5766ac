package agentcli

import (
	"regexp"
	"slices"
	"strings"
)

// Channel says how an agent CLI is run as a server with a terminal client, so that prompts
// reach the server directly and are not typed into the terminal. The zero value: the agent
// CLI has no such server.
type Channel struct {
	// Server are the arguments that make the program a server, after its options. It speaks
	// JSON-RPC, one message on each line, on its standard input and output.
	Server []string
	// Connect are the arguments that make the program a terminal client, before its
	// options. [MarkSocket] stands for the path of the socket.
	Connect []string
	// Flags are the options without a value that server and client both accept, Values those
	// with one. A command line with another option is not split.
	Flags  []string
	Values []string
	// Dropped are the options that neither process gets, because they concern a program
	// without a separate server.
	Dropped []string
	// Resume is the subcommand with which the client continues a conversation. With it the
	// client refuses the options in NotWithResume; the server has them.
	Resume        string
	NotWithResume []string
}

// ChannelTyped says in place of an agent CLI that the prompts are typed although it has a native
// channel.
const ChannelTyped = "typed"

// NativeChannel returns how prompts reach the agent CLI of a profile's family without being
// typed, as words that follow "by"; empty: it has no such way.
func NativeChannel(family string) string {
	return map[string]string{
		"codex":    "codex's server",          // a program of ours beside it, see [ChannelOf]
		"opencode": "gc's plugin in opencode", // in its terminal
		"pi":       "gc's extension of pi",
	}[family]
}

// MarkSocket stands in [Channel.Connect] for the path of the socket.
const MarkSocket = "{socket}"

// ChannelOf returns how the agent CLI of a profile's family is run with a native channel.
// ok is false if it has none.
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

// option is one option of a command line, with its value as a word of its own if it has one.
type option []string

// name returns the option without a value that is joined to it.
func (o option) name() string {
	name, _, _ := strings.Cut(o[0], "=")
	return name
}

// subcommand matches a word that may be a subcommand of the agent CLI and no prompt.
var subcommand = regexp.MustCompile(`^[a-z][a-z-]*$`)

// Split returns the arguments of the server and of the terminal client for a command line of
// the agent CLI, without the program's name. ok is false if the command line has something
// that the channel does not know: then the program has to be run as it is.
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

// parse separates the options from the other words. ok is false if an option is not known.
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
