package render

import (
	"strconv"

	"gascity/client"
	"gascity/internal/textfmt"
)

// WebDevices returns the table of the devices of the web console.
func (s Formatter) WebDevices(list []client.WebDevice) string {
	t := &textfmt.Table{Heads: []string{"ID", "NAME", "SCOPE", "SIGNED IN", "LAST USE", "OPEN"}}
	for _, d := range list {
		scope := ""
		if len(d.Scopes) > 0 {
			scope = string(d.Scopes[len(d.Scopes)-1])
		}
		t.Add(textfmt.Cell{Text: d.ID}, textfmt.Cell{Text: d.Name}, textfmt.Cell{Text: scope},
			textfmt.Cell{Text: textfmt.Ago(s.Now, d.Created)}, textfmt.Cell{Text: textfmt.Ago(s.Now, d.LastSeen)}, textfmt.Cell{Text: strconv.Itoa(d.Open)})
	}
	return s.Table(t)
}
