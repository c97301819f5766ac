package guard

import (
	"cmp"
	"slices"
	"strings"
)

// Readers returns the tools that only read and that the agent of the request may use with any
// input, except if one of the texts in except, in lower case, occurs in the input or in the
// agent's directory. Agents use these tools while no decision can be made.
func (p *Policy) Readers(req Request) (tools, except []string) {
	set, err := ShippedSet("read-only")
	if err != nil {
		return nil, nil
	}
	at := slices.IndexFunc(set.Rules, func(r Rule) bool { return r.ID == "read-tools" })
	if at < 0 {
		return nil, nil
	}
	for _, tool := range set.Rules[at].Tools {
		req.Tool, req.Input = tool, nil
		texts, ok := p.excepted(&req)
		if ok && p.Decide(req).Action == Allow {
			tools = append(tools, tool)
			except = append(except, texts...)
		}
	}
	slices.Sort(except)
	return tools, slices.Compact(except)
}

// excepted returns texts by which protected files are recognized in the input of a tool: the path
// of every file that a rule protects contains one of them. ok is false if a rule has no such text,
// or if the agent works in a protected directory.
func (p *Policy) excepted(req *Request) (texts []string, ok bool) {
	here := strings.ToLower(cmp.Or(req.Now, req.Dir))
	for _, x := range p.viewOf(req).indexes {
		for _, c := range x.files {
			if c.Action == Allow || c.Access == Write || !c.concerns(req) {
				continue
			}
			for _, p := range c.pathPatterns {
				text := p.text()
				if text == "" || strings.Contains(here, text) {
					return nil, false
				}
				texts = append(texts, text)
			}
		}
	}
	return texts, true
}

// text returns the longest text without wildcards in the last part of the pattern that has one:
// every matching path contains it. It returns "" if there is none.
func (p pathPattern) text() string {
	for _, part := range slices.Backward(p.parts) {
		if part == "~" || strings.Contains(part, `\`) {
			continue
		}
		longest := ""
		for run := range strings.FieldsFuncSeq(part, func(r rune) bool { return r == '*' || r == '?' }) {
			if len(run) > len(longest) {
				longest = run
			}
		}
		if longest != "" {
			return longest
		}
	}
	return ""
}
