package tui

import (
	"time"

	"gascity/client"
	"gascity/internal/terminal/vt"
)

// Msg is a message for [Model.Update]: one of the types below.
type Msg any

// What a person does.
type (
	// Key is a pressed key. Name is such as "j", "ctrl+c", "up" or "alt+enter"; Text is the text that the key types, if it does.
	Key struct{ Name, Text string }
	// Paste is pasted text.
	Paste struct{ Text string }
	// Mouse is a click, or a turn of the wheel by Wheel rows. Positions count from zero.
	Mouse struct{ X, Y, Wheel int }
	// Resize is a new size of the terminal.
	Resize struct{ Cols, Rows int }
	// Tick reports that time has passed, so that ages are drawn again.
	Tick struct{}
)

// What the city reports.
type (
	// StatusMsg is the state of the city.
	StatusMsg struct{ Status client.Status }
	// QuestionsMsg lists the open questions.
	QuestionsMsg struct{ Questions []client.Pending }
	// PromptsMsg lists recent prompts.
	PromptsMsg struct{ Prompts []client.Receipt }
	// EventMsg is an event of the city.
	EventMsg struct{ Event client.Event }
	// QueueMsg lists the prompts that are not delivered yet, or says why they cannot be read.
	QueueMsg struct {
		Prompts []client.Receipt
		Err     error
	}
	// CostsMsg maps agents to what they have spent, in USD.
	CostsMsg struct{ Costs map[string]float64 }
	// LinkMsg reports that the controller answers again (Err is nil), or does not.
	LinkMsg struct{ Err error }
	// ScreenMsg is what the terminal of an agent shows, or why it cannot be shown.
	ScreenMsg struct {
		Agent  string
		Screen *Screen
		Err    error
	}
)

// The results of effects.
type (
	// NoticeMsg is a line for the person: the result of an action.
	NoticeMsg struct {
		Text   string
		Failed bool
	}
	// UnsentMsg is a prompt that failed for some agents, and why. The city may have stored it if its answer was lost. Keys maps the agents to the keys
	// with which it was sent.
	UnsentMsg struct {
		Agents  []string
		Text    string
		Keys    map[string]string
		Problem string
	}
	// AnsweredMsg reports that a question is closed.
	AnsweredMsg struct{ ID string }
	// TextMsg is the whole text of a waiting prompt, to be edited. Before is the text that the city has.
	TextMsg struct{ ID, Text, Before string }
	// PageMsg is more output of the command with the ID. Done is set in the last one.
	PageMsg struct {
		ID     int
		Output string
		Done   bool
	}
	// CompletionMsg lists the words that can complete a command line.
	CompletionMsg struct {
		Line  string
		Words []string
	}
	// EditedMsg is the text from the person's editor.
	EditedMsg struct {
		Text string
		Err  error
	}
)

// Screen is a picture of a terminal.
type Screen struct {
	Cols, Rows int
	Row        func(y int) []vt.Cell
	Cursor     vt.Cursor
	Plain      bool // only text, from time to time
}

// Effect is something that [Run] carries out: one of the types below.
type Effect any

type (
	// Answer answers questions that are equal.
	Answer struct {
		IDs          []string
		Agents       []string
		Option, Text string
	}
	// Prompt sends a prompt to agents. Keys maps agents to the keys of an attempt with the same text that failed.
	Prompt struct {
		Agents []string
		Text   string
		Keys   map[string]string
	}
	// Act changes agents.
	Act struct {
		Verb   Verb
		Agents []client.Agent // as the person saw them
	}
	// EditPrompt replaces the text of a waiting prompt.
	EditPrompt struct{ ID, Agent, Text string }
	// MovePrompt moves a waiting prompt.
	MovePrompt struct {
		ID      string
		Request client.MoveRequest
	}
	// CancelPrompt cancels a prompt that is not delivered yet.
	CancelPrompt struct{ ID, Agent string }
	// LoadQueue asks for the prompts that are not delivered yet.
	LoadQueue struct{}
	// LoadText asks for the whole text of a waiting prompt.
	LoadText struct{ ID string }
	// Attach connects the terminal to an agent.
	Attach struct{ Agent string }
	// Command runs a gc command; its output comes as [PageMsg] with the ID.
	Command struct {
		ID   int
		Args []string
	}
	// CancelCommand ends a command.
	CancelCommand struct{ ID int }
	// Complete asks for words that complete a command line.
	Complete struct {
		Line string
		Args []string // the last one is incomplete
	}
	// Edit opens the person's editor on a text.
	Edit struct{ Text string }
	// EditCity opens the person's editor on city.toml.
	EditCity struct{}
	// LoadPrompt asks for a receipt.
	LoadPrompt struct{ ID string }
	// LoadQuestions asks for the open questions with their full text.
	LoadQuestions struct{}
	// Redraw draws the whole screen again.
	Redraw struct{}
	// Suspend stops the process until the shell continues it.
	Suspend struct{}
	// Quit ends the dashboard.
	Quit struct{}
)

// Verb is a change of an agent.
type Verb string

// The verbs.
const (
	Interrupt Verb = "interrupt"
	Stop      Verb = "stop"
	Restart   Verb = "restart" // an agent that does not run is started

	cancelPrompt Verb = "cancel"
)

// link is the connection to the controller.
type link struct {
	away  time.Time // since when no controller answers; zero: it answers
	cause string
}
