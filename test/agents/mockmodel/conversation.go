package mockmodel

import (
	"encoding/json"
	"slices"
	"strings"
)

// conversation is a request's body in the words of no dialect.
type conversation struct {
	model, system, session string
	stream, usage          bool // usage: numbers are wanted in the stream
	tools                  []tool
	messages               []message
}

// message is one message. An answer of the model has calls or texts.
type message struct {
	answer  bool
	texts   []string
	calls   int
	results []string
}

// tool is a tool that the caller offers.
type tool struct {
	name   string
	params map[string]json.RawMessage // the schemas of its arguments
}

// injected begin the texts that an agent says in its user's name.
var injected = []string{
	"<system-reminder>", "<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions",
	"<session_context>", "This is the Gemini CLI", "[Request interrupted by user", "<turn_aborted>", "<command-name>", "<local-command",
	"<permissions instructions>", "<skills_instructions>", "<collaboration_mode>", "<apps_instructions>", "<plugins_instructions>",
}

// isAgentText reports whether a text is the agent's own and not its user's.
func isAgentText(text string) bool {
	text = strings.TrimSpace(text)
	for _, prefix := range injected {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return text == ""
}

// users leaves out what the agent says in its user's name.
func users(texts []string) []string {
	var out []string
	for _, text := range texts {
		if !isAgentText(text) {
			out = append(out, text)
		}
	}
	return out
}

// userTexts returns every text of the user, and how many of the last ones have no
// answer yet.
func (c conversation) userTexts() (all []string, fresh int) {
	for _, m := range c.messages {
		switch texts := users(m.texts); {
		case m.answer:
			fresh = 0
		default:
			all, fresh = append(all, texts...), fresh+len(texts)
		}
	}
	return all, fresh
}

// currentTurn returns the newest text of the user, and how many calls the model has made
// since then. A message may begin with prompts that were cut off before.
func (c conversation) currentTurn() (prompt string, calls int) {
	for _, m := range c.messages {
		if texts := users(m.texts); !m.answer && len(texts) > 0 {
			prompt, calls = newest(texts), 0
		}
		calls += m.calls
	}
	return prompt, calls
}

// newest returns the last text with an order for the mock, else the last one: an agent's own
// words may stand behind it.
func newest(texts []string) string {
	for _, text := range slices.Backward(texts) {
		if directive.MatchString(text) {
			return text
		}
	}
	return texts[len(texts)-1]
}

// results returns what tools gave since the newest text of the user.
func (c conversation) results() []string {
	var out []string
	for _, m := range c.messages {
		if !m.answer && len(users(m.texts)) > 0 {
			out = nil
		}
		out = append(out, m.results...)
	}
	return out
}

// read returns the call that reads a file: by the tool for that, else by a command.
func (c conversation) read(path string) Call {
	for _, t := range c.tools {
		if t.name != "Read" && t.name != "read" && t.name != "read_file" {
			continue
		}
		for _, param := range []string{"file_path", "absolute_path", "filePath", "path"} {
			if _, ok := t.params[param]; ok {
				return Call{Name: t.name, Arguments: encode(map[string]any{param: path})}
			}
		}
	}
	name, arguments := c.shell("cat '" + path + "'")
	return Call{Name: name, Arguments: arguments}
}

// shells are names of tools that run a command, the first one offered is taken.
var shells = []string{"Bash", "bash", "shell_command", "exec_command", "shell", "local_shell", "run_shell_command", "terminal"}

// shell returns the name and the arguments that run the command.
func (c conversation) shell(command string) (name string, arguments json.RawMessage) {
	for _, name := range shells {
		for _, t := range c.tools {
			if t.name == name {
				return name, t.run(command)
			}
		}
	}
	return shells[0], encode(map[string]any{"command": command})
}

// run returns the arguments of a shell tool as its schema wants them.
func (t tool) run(command string) json.RawMessage {
	arguments := map[string]any{}
	name := "command"
	if _, ok := t.params["cmd"]; ok {
		name = "cmd"
	}
	arguments[name] = command
	var schema struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(t.params[name], &schema); err == nil && schema.Type == "array" {
		arguments[name] = []string{"bash", "-c", command}
	}
	for _, extra := range []string{"description", "purpose"} {
		if _, ok := t.params[extra]; ok {
			arguments[extra] = "as the test says"
		}
	}
	return encode(arguments)
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("mockmodel: " + err.Error()) // maps, strings and numbers only
	}
	return raw
}

// tokens returns the number of tokens of so many bytes, near enough.
func tokens(size int) int { return max(1, size/4) }

// parts reads a content that is a text or a list of parts.
func parts(raw json.RawMessage) []part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []part{{Type: "text", Text: text}}
	}
	var list []part
	if json.Unmarshal(raw, &list) != nil {
		return nil // neither: it has nothing to say
	}
	return list
}

// part is a part of a message, in the words of all dialects but Gemini's.
type part struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
}

// texts joins what the parts say.
func texts(list []part) []string {
	var out []string
	for _, p := range list {
		switch p.Type {
		case "text", "input_text", "output_text":
			out = append(out, p.Text)
		}
	}
	return out
}
