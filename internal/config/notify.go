package config

import (
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Notify is a [[notify]] section: a sink, which is a place to which gc sends notifications, and which ones it gets.
type Notify struct {
	Keys
	Name string     `toml:"name" doc:"The name of the sink; unique. gc notify list and gc notify test use it."`
	Type NotifyType `toml:"type" doc:"The type of the sink."`

	On            []NotifyKind  `toml:"on" doc:"What is sent. needs_me is question, permission, login, limit, input (a blocked input box, or a stalled agent), overdue (a question was not answered by its deadline), quarantine and budget; finished is turn, exit and prompt (it can never be delivered). [] for a sink that gets only escalations. Default: needs_me and finished."`
	Agents        []string      `toml:"agents" doc:"Patterns of agent names; * matches any text without a slash. Default: all agents."`
	For           time.Duration `toml:"for" doc:"How long an agent must need you before it is sent; a question that is answered before is not sent. Default: at once."`
	MinTurn       time.Duration `toml:"min_turn" default:"5m" doc:"The end of a turn is sent only if the turn was longer."`
	WhileAttached bool          `toml:"while_attached" doc:"Send also while you see the agent: a terminal is attached to it, or gc top has the focus."`
	Quiet         []string      `toml:"quiet" doc:"Times of the day in which nothing is sent, such as 22:00-07:00, in the time zone of the controller. What is still true afterwards is sent then."`
	Batch         time.Duration `toml:"batch" doc:"How long the first message waits for others: all are sent as one. More than 3 at the same moment are always sent as one."`
	EscalateAfter time.Duration `toml:"escalate_after" doc:"How long an agent needs you until another sink gets it too."`
	EscalateTo    string        `toml:"escalate_to" doc:"The name of that sink."`
	Answer        bool          `toml:"answer" doc:"Messages of ntfy, telegram and webpush have a button for each option of a question. Everybody who reads the channel can press them; for telegram only answer_users, for webpush only devices that may answer."`
	AnswerUsers   []string      `toml:"answer_users" doc:"Numbers of the telegram users who may answer, as strings. Required for telegram with answer = true."`

	URL     Secret        `toml:"url" doc:"Address of the service: of the webhook, which is often a secret, or of the ntfy server. Write a reference such as env:NAME or file:PATH. Default for ntfy: https://ntfy.sh; for telegram: https://api.telegram.org."`
	Token   Secret        `toml:"token" doc:"Access token: of the bot for telegram, the password for email; ntfy and webhook send it as a bearer token. Write a reference such as env:NAME or file:PATH."`
	Command string        `toml:"command" doc:"Shell command for exec. It gets the message as JSON on its standard input and in variables that begin with GC_NOTIFY_."`
	Topic   string        `toml:"topic" doc:"Topic for ntfy. Everybody who knows the topic of a public server can read it."`
	Chat    string        `toml:"chat" doc:"Chat ID for telegram."`
	Server  string        `toml:"server" doc:"Server for email, with a port: smtp.example.org:587."`
	TLS     NotifyTLS     `toml:"tls" default:"starttls" doc:"How the connection for email is encrypted. starttls: port 587; tls: port 465; none: only to this machine."`
	User    string        `toml:"user" doc:"User name for email. Default: the server needs none."`
	From    string        `toml:"from" doc:"Sender for email."`
	To      []string      `toml:"to" doc:"Receivers for email."`
	Socket  string        `toml:"socket" doc:"Socket of your tmux server for terminal. Default: the default socket of tmux."`
	Timeout time.Duration `toml:"timeout" default:"10s" doc:"Maximum duration of one try."`
}

// NotifyType is the type of a sink.
type NotifyType string

// The types of sinks.
const (
	NotifyExec     NotifyType = "exec"     // a shell command
	NotifyWebhook  NotifyType = "webhook"  // JSON by POST
	NotifySlack    NotifyType = "slack"    // a webhook of Slack, or of a compatible service
	NotifyDiscord  NotifyType = "discord"  // a webhook of Discord
	NotifyTeams    NotifyType = "teams"    // a workflow of Microsoft Teams
	NotifyTelegram NotifyType = "telegram" // a bot of Telegram
	NotifyNtfy     NotifyType = "ntfy"     // a topic of an ntfy server
	NotifyDesktop  NotifyType = "desktop"  // the desktop of this machine
	NotifyTerminal NotifyType = "terminal" // the clients of the user's tmux server
	NotifyEmail    NotifyType = "email"    // e-mail by SMTP
	NotifyWebPush  NotifyType = "webpush"  // devices of the web console
)

// Words returns the values that a NotifyType may have in city.toml.
func (NotifyType) Words() []string {
	return texts(
		NotifyExec, NotifyWebhook, NotifySlack, NotifyDiscord, NotifyTeams, NotifyTelegram, NotifyNtfy, NotifyDesktop, NotifyTerminal,
		NotifyEmail, NotifyWebPush,
	)
}

// keys returns the keys that a sink of this type must have, and those that it may have. Keys that every sink may have are in
// neither list.
func (t NotifyType) keys() (required, optional []string) {
	switch t {
	case NotifyExec:
		return []string{"command"}, nil
	case NotifyWebhook:
		return []string{"url"}, []string{"token"}
	case NotifySlack, NotifyDiscord, NotifyTeams:
		return []string{"url"}, nil
	case NotifyTelegram:
		return []string{"token", "chat"}, []string{"url"}
	case NotifyNtfy:
		return []string{"topic"}, []string{"url", "token"}
	case NotifyTerminal:
		return nil, []string{"socket"}
	case NotifyEmail:
		return []string{"server", "from", "to"}, []string{"tls", "user", "token"}
	default: // NotifyDesktop, NotifyWebPush
		return nil, nil
	}
}

// answerRefusal returns why sinks of the type cannot have answer buttons; empty: they can.
func (t NotifyType) answerRefusal() string {
	switch t {
	case NotifyNtfy, NotifyTelegram, NotifyWebPush:
		return ""
	case NotifySlack, NotifyDiscord, NotifyTeams:
		return "a webhook only receives messages: buttons need an app of the service with a public address"
	case NotifyWebhook, NotifyExec:
		return "its receiver can answer by itself: gc respond, with the id of the question in the message"
	case NotifyEmail:
		return "programs that check mails follow links and send forms, and would answer"
	case NotifyDesktop, NotifyTerminal:
		return "answer on this machine: gc respond, or gc top"
	}
	return "it has no buttons"
}

// NotifyKind is a kind of notification, or a group of kinds.
type NotifyKind string

// Words lists the allowed values, the groups first.
func (NotifyKind) Words() []string {
	return []string{
		"needs_me", "finished",
		"question", "permission", "login", "limit", "input", "overdue", "quarantine", "budget",
		"turn", "exit", "prompt",
	}
}

// NotifyTLS says how the connection to a mail server is encrypted.
type NotifyTLS string

// The kinds of encryption.
const (
	NotifyStartTLS NotifyTLS = "starttls"
	NotifyOnlyTLS  NotifyTLS = "tls"
	NotifyNoTLS    NotifyTLS = "none"
)

// Words returns the values that a NotifyTLS may have in city.toml.
func (NotifyTLS) Words() []string { return texts(NotifyStartTLS, NotifyOnlyTLS, NotifyNoTLS) }

// DaySpan is a part of the day, such as 22:00-07:00. From and To are minutes after midnight. If To is not after From, the part
// ends on the next day.
type DaySpan struct{ From, To int }

// minutesOfDay is the number of minutes of a day.
const minutesOfDay = 24 * 60

// ParseDaySpan parses a part of the day such as 22:00-07:00.
func ParseDaySpan(text string) (DaySpan, error) {
	var h1, m1, h2, m2 int
	_, err := fmt.Sscanf(text, "%d:%d-%d:%d", &h1, &m1, &h2, &m2)
	s := DaySpan{h1*60 + m1, h2*60 + m2}
	if err != nil || min(h1, m1, h2, m2) < 0 || fmt.Sprintf("%02d:%02d-%02d:%02d", h1, m1, h2, m2) != text || h1 > 23 || m1 > 59 || m2 > 59 || s.To > minutesOfDay || s.From == s.To {
		return DaySpan{}, fmt.Errorf("%q is not a time of the day", text)
	}
	return s, nil
}

// End returns when the part of the day around the time t ends, in the location of t. It returns the zero time if t is not in it.
func (s DaySpan) End(t time.Time) time.Time {
	year, month, day := t.Date()
	at := t.Hour()*60 + t.Minute()
	switch {
	case s.From < s.To && (at < s.From || at >= s.To):
		return time.Time{}
	case s.From > s.To && at >= s.From:
		day++
	case s.From > s.To && at >= s.To:
		return time.Time{}
	}
	return time.Date(year, month, day, 0, s.To, 0, 0, t.Location())
}

// notify checks the [[notify]] sections.
func (c *checker) notify() {
	seen := map[string]Origin{}
	var names []string
	for i := range c.city.Notify {
		n := &c.city.Notify[i]
		if !c.name(n.Keys, n.Name) {
			continue
		}
		c.unique(seen, n.Origin("name"), "sinks named", n.Name)
		names = append(names, n.Name)
	}
	for i := range c.city.Notify {
		n := &c.city.Notify[i]
		c.notifySink(n)
		c.notifyRule(n, names)
	}
}

// notifySink checks that a sink has the keys that its type needs, and no others.
func (c *checker) notifySink(n *Notify) {
	if !n.Has("type") {
		c.fail(n.Header(), `add type = "desktop", or another of: `+strings.Join(n.Type.Words(), ", "), "the sink %q has no type", n.Name)
		return
	}
	required, optional := n.Type.keys()
	empty := map[string]bool{
		"command": n.Command == "", "url": n.URL.IsZero(), "token": n.Token.IsZero(), "topic": n.Topic == "", "chat": n.Chat == "",
		"server": n.Server == "", "from": n.From == "", "to": len(n.To) == 0,
	}
	for _, key := range required {
		if empty[key] {
			c.fail(n.Header(), fmt.Sprintf("add %s = ...", key), "the sink %q of type %s needs %s", n.Name, n.Type, key)
		}
	}
	for _, key := range []string{"command", "url", "token", "topic", "chat", "server", "tls", "user", "from", "to", "socket"} {
		if n.Has(key) && !slices.Contains(required, key) && !slices.Contains(optional, key) {
			c.fail(n.Origin(key), "remove it", "a sink of type %s has no %s", n.Type, key)
		}
	}
	for key, secret := range map[string]Secret{"url": n.URL, "token": n.Token} {
		if secret.Kind() == SecretCredential {
			c.credentialReference(n.Origin(key), secret.Reference())
		}
	}
	masked := strings.HasPrefix(n.URL.text, Masked) // in the text of an editor; it is checked again with the address
	if n.URL.Kind() == SecretLiteral && !masked && !IsWebAddress(n.URL.text) {
		c.fail(n.Origin("url"), `write it like "https://host/path", or as a reference such as "env:NAME"`, "url is not the address of a web service")
	}
	if n.Topic != "" && !segment.MatchString(n.Topic) {
		c.fail(n.Origin("topic"), "use letters, digits, '_' and '-'", "%q is not a topic", n.Topic)
	}
	c.positive(n.Keys, "timeout", int64(n.Timeout))
	if n.Type == NotifyEmail {
		c.notifyEmail(n)
	}
	c.notifyAnswer(n)
}

// notifyAnswer checks the keys of answer buttons.
func (c *checker) notifyAnswer(n *Notify) {
	if n.Has("answer_users") && n.Type != NotifyTelegram {
		c.fail(n.Origin("answer_users"), "remove it", "a sink of type %s has no answer_users", n.Type)
	}
	for i, user := range n.AnswerUsers {
		if id, err := strconv.ParseInt(user, 10, 64); err != nil || id <= 0 || strconv.FormatInt(id, 10) != user {
			c.fail(n.ItemOrigin("answer_users", i), `write the number of the user, such as "123456789"`, "%q is not the number of a telegram user", user)
		}
	}
	if !n.Answer {
		return
	}
	why, web := n.Type.answerRefusal(), &c.city.Web
	switch {
	case why != "":
		c.fail(n.Origin("answer"), "remove it; ntfy, telegram and webpush have answer buttons", "a sink of type %s cannot have answer buttons: %s", n.Type, why)
	case n.Type == NotifyTelegram && len(n.AnswerUsers) == 0:
		c.fail(n.Origin("answer"), `add answer_users = ["123456789"]`, "the sink %q does not say who may answer", n.Name)
	case n.Type == NotifyNtfy && web.URL == "" && len(web.Hosts) == 0:
		c.fail(n.Origin("answer"), `add url = "https://box.example.ts.net" or hosts to [web]`, "the buttons of %q send their answer to the web console, whose address is unknown", n.Name)
	}
	for i := range c.city.Notify { // a bot sends each press to one reader
		other := &c.city.Notify[i]
		if other == n {
			return
		}
		masked := strings.HasPrefix(n.Token.text, Masked)
		if n.Type == NotifyTelegram && other.Type == NotifyTelegram && other.Answer && other.Token == n.Token && other.URL == n.URL && !masked {
			c.fail(n.Origin("answer"), "use another bot, or remove answer from one of them", "the sinks %q and %q have the same bot, which sends each press to one of them only", other.Name, n.Name)
			return
		}
	}
}

// IsWebAddress reports whether text is an http or https address without a user name and a password.
func IsWebAddress(text string) bool {
	at, err := url.Parse(text)
	return err == nil && at.Host != "" && (at.Scheme == "http" || at.Scheme == "https") && at.User == nil
}

// notifyEmail checks the keys of a sink for e-mail.
func (c *checker) notifyEmail(n *Notify) {
	host, _, err := net.SplitHostPort(n.Server)
	switch {
	case n.Server == "":
	case err != nil:
		c.fail(n.Origin("server"), `write it like "smtp.example.org:587"`, "%q is not a host with a port", n.Server)
	case n.TLS == NotifyNoTLS && !IsLoopback(host):
		c.fail(n.Origin("tls"), `write "starttls" or "tls"`, "tls is none, so others could read the messages and the password on the way to %s", host)
	}
	for i, address := range append([]string{n.From}, n.To...) {
		if _, err := mail.ParseAddress(address); err != nil && (i > 0 || address != "") {
			at := n.Origin("from")
			if i > 0 {
				at = n.ItemOrigin("to", i-1)
			}
			c.fail(at, `write it like "name@example.org"`, "%q is not an e-mail address", address)
		}
	}
	if n.User != "" && n.Token.IsZero() {
		c.fail(n.Origin("user"), `add token = "env:NAME"`, "user is set, but token (the password) is not")
	}
}

// notifyRule checks the keys that say which notifications a sink gets, and when. names are the names of all sinks.
func (c *checker) notifyRule(n *Notify, names []string) {
	for i, pattern := range n.Agents {
		if _, err := path.Match(pattern, ""); err != nil {
			c.fail(n.ItemOrigin("agents", i), "close each [ with a ]", "%q is not a valid pattern", pattern)
		} else if !c.matchesAgent(pattern) {
			c.fail(n.ItemOrigin("agents", i), suggest(pattern, c.agentNames()), "no agent is called %q", pattern)
		}
	}
	for i, text := range n.Quiet {
		if _, err := ParseDaySpan(text); err != nil {
			c.fail(n.ItemOrigin("quiet", i), `write it like "22:00-07:00"`, "%v", err)
		}
	}
	switch {
	case n.Has("escalate_after") != n.Has("escalate_to"):
		c.fail(n.Header(), "write both", "escalate_after and escalate_to belong together")
	case n.EscalateTo != "" && n.EscalateTo == n.Name:
		c.fail(n.Origin("escalate_to"), "name another sink", "the sink %q escalates to itself", n.Name)
	case n.EscalateTo != "" && !slices.Contains(names, n.EscalateTo):
		c.fail(n.Origin("escalate_to"), suggest(n.EscalateTo, names), "there is no [[notify]] with the name %q", n.EscalateTo)
	}
	c.positive(n.Keys, "escalate_after", int64(n.EscalateAfter))
}
