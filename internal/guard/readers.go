package guard

import (
	"cmp"
	"slices"
	"strings"
)

// Readers returns the tools that only read and that a request's agent may use whatever
// their input, unless one of the texts of except, in small letters, stands in it or
// in the folder where the agent is. They are for times in which no decision can be
// made.
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

// excepted are texts: the name of every file that a rule keeps a tool from has one of
// them; not ok if a rule has none, or the agent works in such a place.
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

// text returns a text that stands in the name of every file of a place, the longest of those
// that are nearest to its end; empty if there is none.
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
