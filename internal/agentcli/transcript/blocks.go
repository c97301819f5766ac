package transcript

import (
	"regexp"
	"strings"

	"gascity/client"
)

// blocks parses the format [agentcli.TranscriptBlocks]: one line for each block of a message.
type blocks struct{}

type blocksRecord struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	Timestamp moment `json:"timestamp"`
	Meta      bool   `json:"isMeta"`
	Side      bool   `json:"isSidechain"` // of a sub-agent
	Summary   bool   `json:"isCompactSummary"`
	APIError  bool   `json:"isApiErrorMessage"`
	Message   struct {
		Content content `json:"content"`
	} `json:"message"`
	Content    content `json:"content"`
	Attachment struct {
		Type   string  `json:"type"`
		Prompt content `json:"prompt"`
	} `json:"attachment"`
}

var (
	commandName   = regexp.MustCompile(`<command-name>([^<]*)</command-name>`)
	commandArgs   = regexp.MustCompile(`<command-args>([^<]*)</command-args>`)
	commandOutput = regexp.MustCompile(`(?s)^<local-command-(?:stdout|stderr)>(.*)</local-command-`)
)

// line adds what one line says to l. It implements parser.
func (b *blocks) line(text []byte, l *list) error {
	var r blocksRecord
	if err := decode(text, &r); err != nil {
		return err
	}
	if r.Side {
		return nil
	}
	at := r.Timestamp.Time
	switch r.Type {
	case "user":
		b.user(&r, l)
	case "assistant":
		for _, p := range r.Message.Content {
			switch p.Type {
			case "text":
				kind := client.EntryAnswer
				if r.APIError {
					kind = client.EntryError
				}
				l.text(kind, at, p.Text)
			case "thinking":
				l.text(client.EntryThinking, at, p.Thinking)
			case "tool_use":
				l.call(p.ID, at, p.Name, p.Input)
			}
		}
	case "system":
		switch r.Subtype {
		case "compact_boundary":
			l.text(client.EntryCompaction, at, "")
		case "api_error":
			l.text(client.EntryError, at, r.Content.text())
		}
	case "attachment":
		if r.Attachment.Type == "queued_command" {
			l.prompt(at, r.Attachment.Prompt.text())
		}
	}
	return nil
}

// user adds a line that has the type user: a prompt, the results of tools, or a command of the
// agent CLI.
func (b *blocks) user(r *blocksRecord, l *list) {
	for _, p := range r.Message.Content {
		if p.Type == "tool_result" {
			l.result(p.UseID, p.Content.text(), p.IsError)
		}
	}
	text := r.Message.Content.text()
	at := r.Timestamp.Time
	switch {
	case r.Summary:
		if n := len(l.entries); n > 0 && l.entries[n-1].Kind == client.EntryCompaction {
			l.replace(&l.entries[n-1], text)
		} else {
			l.text(client.EntryCompaction, at, text)
		}
	case r.Meta:
	case commandName.MatchString(text):
		command := commandName.FindStringSubmatch(text)[1]
		if args := commandArgs.FindStringSubmatch(text); args != nil {
			command += " " + args[1]
		}
		l.text(client.EntryNotice, at, strings.TrimSpace(command))
	case commandOutput.MatchString(text):
		l.text(client.EntryNotice, at, commandOutput.FindStringSubmatch(text)[1])
	case strings.HasPrefix(text, "[Request interrupted by user"):
		l.text(client.EntryNotice, at, "interrupted")
	default:
		l.prompt(at, text)
	}
}
