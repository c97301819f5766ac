package controlapi

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
)

var update = flag.Bool("update", false, "write the generated references")

func TestReferenceIsCurrent(t *testing.T) {
	described, err := json.MarshalIndent(NewServer(nil, Options{}).huma.OpenAPI(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"api.md": reference(), "openapi.json": string(described) + "\n"} {
		path := filepath.Join("..", "..", "..", "docs", "reference", name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("docs/reference/%s is out of date, run make gen (-want +got):\n%s", name, diff)
		}
	}
}

const referenceHead = `# Control API

Made from the table of routes by ` + "`make gen`" + `; do not edit. The full description with all types is
[openapi.json](openapi.json); a running controller serves its own at ` + "`/openapi.json`" + `.

The API is HTTP on the Unix socket ` + "`<city>/.runtime/control.sock`" + `. The mode of the socket is 0600, that of its directory 0700. If that path is longer
than 100 bytes, the socket is ` + "`/tmp/gc-<uid>/<id>/control.sock`" + `. The id is the first 12 hexadecimal digits of the SHA-256 of the city directory. The
API answers only the owner of the controller and root. It refuses a request with an ` + "`Origin`" + ` or ` + "`Referer`" + ` header, or with a host other than ` + "`city`" + ` or
` + "`localhost`" + `. A request that changes something needs the header ` + "`Gc-Version`" + ` with the version of the caller. Each answer has the version of the
controller.

` + "```sh" + `
curl --unix-socket .runtime/control.sock http://city/v1/status
curl --unix-socket .runtime/control.sock -H 'Gc-Version: curl' -X POST http://city/v1/sessions/worker/interrupt
` + "```" + `

In Go use package [client](../../client). The API refuses unknown fields of a request. Clients ignore unknown fields of an answer. A request that
changes something continues when its caller disconnects. In a path an agent's name is escaped: ` + "`dir%2Fworker`" + `.

## Routes

The web console serves the routes that have a scope, below ` + "`/api`" + `, to devices with that scope ([how](../how-to/web-console.md)). The last column is the
time limit of a request.

| route | what it does | scope | limit |
|---|---|---|---|
`

const referenceEvents = `
## Event stream

` + "`GET /v1/events/stream`" + ` answers with server-sent events. It first sends the stored events after ` + "`Last-Event-ID`" + ` (or ` + "`?after=`" + `), then each new event.
An ` + "`event`" + ` has an id that grows. Its data is one event of [events.md](events.md) as JSON. A ` + "`gap`" + ` means that this reader has lost the events between
` + "`after`" + ` and ` + "`next`" + `: read the status again. A silent stream has a comment every 15 s. gc disconnects a reader that is more than 1024 events late, or
that reads nothing for 10 s. The reader may resume.

## Problems

Errors are RFC 9457 problem documents (` + "`application/problem+json`" + `) with the members type, title, status, detail and code. The code is stable. In Go
the code corresponds to the sentinel error in the table. The last column is the exit status of ` + "`gc`" + `.

| code | status | sentinel | exit status |
|---|---|---|---|
`

// reference returns docs/reference/api.md.
func reference() string {
	var out strings.Builder
	out.WriteString(referenceHead)
	for _, row := range routes() {
		limit := "none"
		if row.limit > 0 {
			limit = strings.TrimSuffix(row.limit.String(), "0s")
		}
		if row.limit == quick {
			limit = row.limit.String()
		}
		scope := string(row.scope)
		if scope != "" {
			scope = "`" + scope + "`"
		}
		fmt.Fprintf(&out, "| `%s %s` | %s | %s | %s |\n", row.method, row.path, row.summary, scope, limit)
	}
	out.WriteString(referenceEvents)
	for _, row := range []struct {
		err      error
		sentinel string
		exit     int
	}{
		{client.ErrInvalid, "ErrInvalid", 2},
		{client.ErrNotFound, "ErrNotFound", 3},
		{client.ErrRefused, "ErrRefused", 4},
		{client.ErrForbidden, "ErrForbidden", 4},
		{client.ErrUnauthorized, "ErrUnauthorized, on the web only", 4},
		{client.ErrTooMany, "ErrTooMany, on the web only", 1},
		{client.ErrTimeout, "ErrTimeout", 5},
		{client.ErrUnsupported, "ErrUnsupported, also errors.ErrUnsupported", 1},
		{client.ErrUnavailable, "ErrUnavailable", 1},
		{errors.New("odd"), "none: a defect, or an unforeseen error", 1},
	} {
		p := client.ProblemOf(row.err)
		fmt.Fprintf(&out, "| `%s` | %d | %s | %d |\n", p.Code, p.Status, row.sentinel, row.exit)
	}
	return out.String()
}
