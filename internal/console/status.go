package console

import (
	"strings"

	"gascity/internal/agentcli"
)

// programStatus is a report of the Program Status Protocol (OSC 7501):
// "state=blocked:kind=permission:app=...". Reports of children (with an id) say
// nothing about the program itself.
type programStatus struct{ state, kind string }

func parseStatus(raw string) programStatus {
	var s programStatus
	for _, field := range strings.FieldsFunc(raw, func(r rune) bool { return r == ':' || r == ';' }) {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "id":
			return programStatus{}
		case "state", "status":
			s.state = value
		case "kind":
			s.kind = value
		}
	}
	if s.state == "clear" {
		return programStatus{}
	}
	return s
}

// dialog returns the kind of what the program is blocked by.
func (s programStatus) dialog() agentcli.DialogKind {
	switch s.kind {
	case "permission":
		return agentcli.DialogTool
	case "auth":
		return agentcli.DialogLogin
	default:
		return agentcli.DialogUnknown
	}
}
