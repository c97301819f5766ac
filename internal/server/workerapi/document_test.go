package workerapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"gascity/internal/server/workerapi"
)

// document is the description, for the check of answers.
type document struct {
	huma.OpenAPI
	Schemas huma.Registry
}

func described(t *testing.T) document {
	t.Helper()
	text, err := workerapi.Description()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, methods := range doc.Paths {
		n += len(methods)
	}
	if n != len(endpoints) {
		t.Errorf("%d operations are described, %d are tested", n, len(endpoints))
	}
	described, schemas := workerapi.Described()
	return document{*described, schemas}
}

// check validates an answer with the API description.
func (doc document) check(t *testing.T, e endpoint, a answer) {
	t.Helper()
	route, _, _ := strings.Cut(e.path, "?")
	item := doc.Paths[route]
	if item == nil {
		t.Fatalf("%s is not described", route)
	}
	op := item.Get
	if e.method == http.MethodPost {
		op = item.Post
	}
	if op == nil || op.OperationID != e.id {
		t.Fatalf("%s %s is not described as %s", e.method, route, e.id)
	}
	as := op.Responses[strconv.Itoa(a.status)]
	if as == nil && a.status >= 400 {
		as = op.Responses["default"]
	}
	if as == nil {
		t.Errorf("%s answered %d, which is not described", e.id, a.status)
		return
	}
	if as.Ref != "" {
		as = doc.Components.Responses[path.Base(as.Ref)]
	}
	kind, _, _ := strings.Cut(a.kind, ";")
	media := as.Content[kind]
	switch {
	case len(as.Content) == 0 && a.body == "", kind == "text/event-stream" && media != nil:
		return
	case media == nil:
		t.Errorf("%s answered %d with %q, which is not described", e.id, a.status, kind)
		return
	}
	var value any
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		t.Errorf("%s answered %s: %v", e.id, a.body, err)
		return
	}
	result := &huma.ValidateResult{}
	huma.Validate(doc.Schemas, media.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, value, result)
	for _, err := range result.Errors {
		t.Errorf("%s answered %s: %v", e.id, a.body, err)
	}
}

// checkRequest validates the body of a request with the API description.
func (doc document) checkRequest(t *testing.T, e endpoint) {
	t.Helper()
	route, _, _ := strings.Cut(e.path, "?")
	if e.method != http.MethodPost {
		return
	}
	var value any
	if err := json.Unmarshal([]byte(e.body), &value); err != nil {
		t.Fatal(err)
	}
	result := &huma.ValidateResult{}
	huma.Validate(doc.Schemas, doc.Paths[route].Post.RequestBody.Content["application/json"].Schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, value, result)
	for _, err := range result.Errors {
		t.Errorf("the description has no place for %s %s: %v", e.id, e.body, err)
	}
}

// TestValidatorFindsWrongAnswers checks that the validator of these tests finds an answer that
// differs from the description.
func TestValidatorFindsWrongAnswers(t *testing.T) {
	doc := described(t)
	probe := &testing.T{}
	doc.check(probe, endpoints[1], answer{200, "application/json", `{"allowed":"yes"}`})
	if !probe.Failed() {
		t.Error("a decision that is a text passes for one")
	}
}

// TestTheSocketServesItsDescription checks that the worker socket answers GET /openapi.json with
// the document of the reference, without a token, and refuses other users.
func TestTheSocketServesItsDescription(t *testing.T) {
	d := newTestServer(t, false)
	get := func() (int, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.base+"/openapi.json", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := d.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, text
	}
	want, err := workerapi.Description()
	if err != nil {
		t.Fatal(err)
	}
	if status, got := get(); status != http.StatusOK || !bytes.Equal(got, want) {
		t.Errorf("the answer is %d with %d bytes, want the description", status, len(got))
	}
	d.uid.Store(int64(os.Getuid()) + 1)
	d.client.CloseIdleConnections()
	if status, got := get(); status < 400 || bytes.Equal(got, want) {
		t.Errorf("another user is answered %d", status)
	}
}
