package guard

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// Table contains expected decisions of a policy, for gc guard test.
type Table struct {
	Cases []Case `toml:"case" json:"cases"`
}

// Case is one expected decision. Command is a shell command, in place of Tool and Input.
type Case struct {
	Command string         `toml:"command" json:"command,omitempty"`
	Tool    string         `toml:"tool" json:"tool,omitempty"`
	Input   map[string]any `toml:"input" json:"input,omitempty"`
	Role    string         `toml:"role" json:"role,omitempty"`
	Agent   string         `toml:"agent" json:"agent,omitempty"`
	Dir     string         `toml:"dir" json:"dir,omitempty"` // working directory; empty: that of the agent
	Want    Action         `toml:"want" json:"want"`
	Rule    string         `toml:"rule" json:"rule,omitempty"` // the id of the rule that must decide; empty: any
}

// Result is the result of a case.
type Result struct {
	Case    Case    `json:"case"`
	Verdict Verdict `json:"verdict"`
	Passed  bool    `json:"passed"`
}

// DecodeTable decodes a table from TOML. name is used in errors.
func DecodeTable(name string, data []byte) (Table, error) {
	var t Table
	if err := strict(name, data, &t); err != nil {
		return Table{}, err
	}
	if len(t.Cases) == 0 {
		return Table{}, &FileError{File: name, Fault: "there is no [[case]], so there is nothing to check"}
	}
	lines := linesOf(data, "[[case]]")
	for i, c := range t.Cases {
		fault := &FileError{File: name}
		if i < len(lines) {
			fault.Line, fault.Column = lines[i], 1
		}
		switch {
		case c.Want == "":
			fault.Fault = fmt.Sprintf("case %d has no want: allow, ask or deny", i+1)
		case !c.Want.IsValid():
			fault.Fault, fault.Unknown = fmt.Sprintf("case %d: want is %q, not one of allow, ask, deny", i+1, c.Want), string(c.Want)
		case (c.Command == "") == (c.Tool == ""):
			fault.Fault = fmt.Sprintf("case %d: give either command or tool", i+1)
		default:
			continue
		}
		return Table{}, fault
	}
	return t, nil
}

// TableWords returns the keys of a table of cases and the values of want.
func TableWords() []string {
	return append(keysOf(reflect.TypeFor[Case]()), "case", string(Allow), string(Ask), string(Deny))
}

// ShellTool is the tool of a case that has only a command.
const ShellTool = "Bash"

// Request returns the call that a case describes.
func (c Case) Request() (Request, error) {
	req := Request{Tool: c.Tool, Role: c.Role, Agent: c.Agent, Dir: c.Dir}
	input := c.Input
	if c.Command != "" {
		req.Tool, input = ShellTool, map[string]any{"command": c.Command}
	}
	var err error
	if input != nil {
		req.Input, err = json.Marshal(input)
	}
	return req, err
}

// Check decides every case of a table and returns the results. If place is not nil, it is called to
// add what is known of the agent to each request.
func (p *Policy) Check(t Table, place func(*Request)) ([]Result, error) {
	results := make([]Result, 0, len(t.Cases))
	for _, c := range t.Cases {
		req, err := c.Request()
		if err != nil {
			return nil, err
		}
		if place != nil {
			place(&req)
		}
		v := p.Decide(req)
		results = append(results, Result{c, v, v.Action == c.Want && (c.Rule == "" || c.Rule == v.Rule)})
	}
	return results, nil
}

// Call is a decided call, as it is stored for gc guard replay.
type Call struct {
	At      time.Time `json:"at"`
	Session string    `json:"session,omitempty"`
	Request
	Verdict

	Cut bool `json:"cut,omitempty"` // the input was too long or not valid, and is not stored
}

// Keys returns the keys that a file of rules may contain.
func Keys() []string { return keysOf(reflect.TypeFor[Set](), reflect.TypeFor[Rule]()) }

// keysOf returns the TOML keys of the types.
func keysOf(types ...reflect.Type) []string {
	var keys []string
	for _, t := range types {
		for field := range t.Fields() {
			if key := field.Tag.Get("toml"); key != "" && key != "-" {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
