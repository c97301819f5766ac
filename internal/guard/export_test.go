package guard

// DecideInOrder decides without the index and without remembered decisions: it compares each rule
// with each part of the call.
func (p *Policy) DecideInOrder(req Request) Verdict {
	view := p.viewOf(&req)
	tool := view.tool(&req)
	if tool.Action == Deny {
		return tool
	}
	subjects, err := newScratch().read(&req)
	if err != nil {
		return Worse(tool, Verdict{Action: Ask, Rule: RuleUnreadable, Reason: err.Error()})
	}
	fallback := tool
	if fallback.Action == "" {
		fallback = Verdict{Action: view.fallback, Reason: defaultReason(view.fallback, req.Tool)}
	}
	var verdict Verdict
	for i := range subjects {
		v := view.inOrder(&subjects[i], &req)
		if v.Action == "" && !subjects[i].incidental(fallback.Action) {
			v = fallback
			v.Part = subjects[i].name()
		}
		verdict = Worse(verdict, Worse(v, subjects[i].hidden()))
	}
	if verdict.Action == "" {
		return fallback
	}
	return Worse(verdict, tool)
}

func (v *view) inOrder(s *subject, req *Request) Verdict {
	f := facts{subject: s, req: req}
	for _, x := range v.indexes {
		groups := []*program{&x.others}
		for name, p := range x.programs {
			if name == s.program { // one rule after the other, in the order of the sheet
				groups = append([]*program{p}, groups...)
			} else {
				groups = append(groups, p)
			}
		}
		for _, p := range groups {
			for _, c := range p.rules {
				if s.command == nil || len(s.command.Words) == 0 {
					continue
				}
				takes, exact := valueOptions[s.program]
				t, words := p.heads[c.head].begins(s.command, s.program, takes, exact)
				f.consider(c, c.command(&f, t, words))
			}
		}
		for _, c := range x.files {
			slow := *c
			slow.pathPatterns = make(pathPatterns, len(c.pathPatterns))
			for i, p := range c.pathPatterns {
				p.named, p.last = "", ends{}
				slow.pathPatterns[i] = p
			}
			f.consider(&slow, slow.names(&f))
		}
	}
	return f.verdict
}
