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

A city (the agents of one ` + "`city.toml`" + `) has one timeline. Every event has an id. Each id is larger than the id before it. To continue a stream, send
the last id that you read. An event describes something that has happened. Before you act on an event, read the status. Data values are strings, and
any key may be absent. An event about a running session also has the run id of that session, as data "run". Readers ignore kinds and keys that they do
not know.

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
