package workerapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"gascity/internal/httpwire"
	"gascity/worker"
)

// apiVersion is the version of the API, not of the program.
const apiVersion = "1"

const description = `The Factory Worker API of one city, on the Unix socket <city>/.runtime/worker.sock and, where a worker
cannot use one, on a port of 127.0.0.1 that is written in <city>/.runtime/worker-<session>.port. Every request carries
"Authorization: Bearer" with the run's token (GC_WORKER_TOKEN). Errors are RFC 9457 problem documents with a stable code.
Unknown fields are ignored on both sides.`

// Description returns the OpenAPI 3.1 document of the worker API, indented.
func Description() ([]byte, error) {
	text, err := json.MarshalIndent(describe(), "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// describe answers a request for the API description. It needs no token, because the description is
// the same for every city.
func (s *Server) describe(w http.ResponseWriter, r *http.Request) {
	text, err := Description()
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if _, err := w.Write(text); err != nil {
		s.Log.Debug("cannot send the whole description of the worker API", "error", err)
	}
}

// describe returns the OpenAPI description of the worker API.
func describe() *huma.OpenAPI {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI:    "3.1.0",
		Info:       &huma.Info{Title: "Gas City worker API", Version: apiVersion, Description: description, License: &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"}},
		Servers:    servers(),
		Components: &huma.Components{Schemas: schemas, Responses: problems(schemas), SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "GC_WORKER_TOKEN of the run; the owner's is in .gc/worker.token of the city"}}},
		Security:   []map[string][]string{{"token": {}}},
	}
	for _, row := range routes() {
		doc.AddOperation(row.operation(schemas, errorResponses()))
	}
	for _, kind := range []reflect.Type{reflect.TypeFor[worker.Message](), reflect.TypeFor[worker.Gap](), reflect.TypeFor[worker.Reply](), reflect.TypeFor[worker.Compact](), reflect.TypeFor[worker.Snapshot]()} {
		schemas.Schema(kind, true, kind.Name())
	}
	for name, schema := range schemas.Map() {
		relax(name, schema)
	}
	return doc
}

// optional are the fields that are always sent but that a request may leave out.
var optional = []string{"run_id", "timestamp"}

// relax changes the schema of the type name to what the server accepts: unknown fields, and
// requests without the fields that the server can fill in. It also adds the known values of fields
// to their descriptions. A list that may be left out is never null.
func relax(name string, schema *huma.Schema) {
	schema.AdditionalProperties = nil
	if !slices.Contains(answered, name) {
		schema.Required = slices.DeleteFunc(schema.Required, func(field string) bool { return slices.Contains(optional, field) })
	}
	for field, property := range schema.Properties {
		property.Nullable = property.Nullable && (property.Type != huma.TypeArray || slices.Contains(schema.Required, field))
		if words, ok := vocabulary[name+"."+field]; ok {
			property.Description = words + ", or a newer one"
		}
	}
	schema.PrecomputeMessages()
}

// operation returns the description of one route.
func (row route) operation(schemas huma.Registry, responses map[string]*huma.Response) *huma.Operation {
	op := &huma.Operation{OperationID: row.id, Method: row.method, Path: row.path, Summary: row.summary, Description: row.describe(), Responses: responses}
	ok := &huma.Response{Description: "The answer"}
	switch answer := row.serve.answer; {
	case answer == nil:
		ok.Content = map[string]*huma.MediaType{httpwire.EventStream: {Schema: &huma.Schema{Type: huma.TypeString}}}
		op.Responses["200"] = ok
	case answer == reflect.TypeFor[none]():
		op.Responses["204"] = &huma.Response{Description: "Accepted"}
	default:
		ok.Content = map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(answer, true, row.id)}}
		op.Responses["200"] = ok
	}
	if row.serve.request != nil {
		op.RequestBody = &huma.RequestBody{
			Required: true,
			Content:  map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(row.serve.request, true, row.id), Example: example(row.id)}},
		}
	}
	op.Parameters = row.parameters()
	return op
}

// parameters returns the description of the parameters of a route.
func (row route) parameters() []*huma.Param {
	text, count := &huma.Schema{Type: huma.TypeString}, &huma.Schema{Type: huma.TypeInteger, Format: "int64"}
	all := []*huma.Param{
		{Name: "run_id", In: "query", Schema: text, Description: "the run; default: the caller's own run"},
		{Name: "after", In: "query", Schema: count, Description: "the number of the last message or event that the reader has"},
		{Name: "limit", In: "query", Schema: count, Description: "the largest number of events; at most, and by default, one page"},
		{Name: "wait", In: "query", Schema: text, Description: "submitted or consumed"},
		{Name: "Last-Event-ID", In: "header", Schema: text, Description: "same as after"},
	}
	names := map[string][]string{"stream": {"run_id", "after", "Last-Event-ID"}, "events": {"run_id", "after", "limit"}, "health": {"run_id"}, "prompt": {"wait"}}[row.id]
	return slices.DeleteFunc(all, func(p *huma.Param) bool { return !slices.Contains(names, p.Name) })
}
