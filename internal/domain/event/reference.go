package event

import (
	"fmt"
	"strings"
)

// Reference returns docs/reference/events.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Events

Generated from internal/domain/event; run make gen after a change.

A city has one time line. Every event has an id that grows by at least one; resume a stream with the last id that you
read. An event describes something that has happened. Before you act on an event, read the status. Data values are strings,
and any key may be absent. An event of a session that runs has its run_id, too, as data "run". Readers ignore kinds and keys that they do not know.

| kind | meaning | data |
|---|---|---|
`)
	for _, k := range Kinds() {
		var data []string
		for _, d := range k.Data {
			data = append(data, fmt.Sprintf("`%s`: %s", d.Key, d.Meaning))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Kind, k.Meaning, strings.Join(data, "; "))
	}
	return b.String()
}
