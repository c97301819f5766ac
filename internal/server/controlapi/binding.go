package controlapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"gascity/client"
	"gascity/internal/httpwire"
	"gascity/internal/redact"
	"gascity/internal/server/httpkit"
)

// binding registers the handler of a route with the server and adds the route to the API
// description.
type binding func(s *Server, op huma.Operation, row route)

// handler answers one request. Its input and output types are the request and the response in the
// API description.
type handler[I, O any] func(ctx context.Context, city City, in *I) (*O, error)

// streamer answers a request with a stream. An error before the first byte becomes a problem
// document; a later error closes the connection.
type streamer func(ctx context.Context, s *Server, w http.ResponseWriter, r *http.Request) error

// bind returns the binding of a route that the handler h answers with a JSON document.
func bind[I, O any](h handler[I, O]) binding {
	return func(s *Server, op huma.Operation, row route) {
		huma.Register(s.huma, op, func(parent context.Context, in *I) (*O, error) {
			ctx, cancel := bound(parent, row)
			defer cancel()
			out, err := h(ctx, s.city, in)
			if err != nil {
				return nil, &problem{client.ProblemOf(err)}
			}
			return out, nil
		})
	}
}

// ask returns the handler of a request without parameters, which calls the method of of [City] and
// answers with its result.
func ask[T any](of func(City, context.Context) (T, error)) handler[none, reply[T]] {
	return func(ctx context.Context, city City, _ *none) (*reply[T], error) { return answer(of(city, ctx)) }
}

// askOf returns the handler of a request about one agent or session, which calls the method of of
// [City] with its name and answers with the result.
func askOf[T any](of func(City, context.Context, string) (T, error)) handler[Named, reply[T]] {
	return func(ctx context.Context, city City, in *Named) (*reply[T], error) {
		return answer(of(city, ctx, in.Target))
	}
}

// waiter answers when a condition holds, after any time. Its ctx ends when the caller disconnects
// or the server stops.
type waiter[I, O any] func(ctx context.Context, s *Server, in *I) (*O, error)

// bindWait returns the binding of a JSON route whose answer may come after any time, when a
// condition is met.
func bindWait[I, O any](h waiter[I, O]) binding {
	return func(s *Server, op huma.Operation, _ route) {
		huma.Register(s.huma, op, func(parent context.Context, in *I) (*O, error) {
			ctx, cancel := s.Bound(parent, always)
			defer cancel()
			out, err := h(ctx, s, in)
			if err != nil {
				return nil, &problem{client.ProblemOf(s.ErrorOf(ctx, err))}
			}
			return out, nil
		})
	}
}

// bound returns the context of a handler, with the route's time limit. If the route only reads, the
// context also ends when the caller disconnects. If it changes something, the change continues in
// that case.
func bound(parent context.Context, row route) (context.Context, context.CancelFunc) {
	if row.access == reads {
		return context.WithTimeout(parent, row.limit)
	}
	return httpkit.Detached(parent, row.limit)
}

// stream returns the function that registers a route of the control API whose answer is a stream.
// contentType is that of the stream, and h writes it.
func stream(contentType string, h streamer) binding {
	return func(s *Server, op huma.Operation, row route) {
		op.Responses["200"] = &huma.Response{
			Description: "The stream",
			Content:     map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeString}}},
		}
		op.Parameters = streamParameters(row)
		s.huma.OpenAPI().AddOperation(&op)
		s.routes.HandleFunc(row.method+" "+row.path, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := s.Bound(r.Context(), always)
			defer cancel()
			counted := &countingWriter{ResponseWriter: w, masked: redact.Stream{Redactor: s.Secrets, To: w}}
			counted.Header().Set("Content-Type", contentType)
			err := h(ctx, s, counted, r)
			if flushed := counted.masked.Flush(); err == nil {
				err = flushed
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				s.endStream(counted, r, err)
			}
		})
	}
}

// downloader answers a request with a file. An error before the first byte becomes a problem document;
// a later error closes the connection.
type downloader[T any] func(ctx context.Context, city City, target string, in T, w io.Writer) error

// download returns the binding of a route that answers with a file. Secrets in the file are not
// masked, because that would damage it; the handler is responsible for its content. The context ends
// when the caller disconnects. name returns the name of the file for browsers; nil means that there is none.
func download[T any](contentType string, name func(target string, in T) string, h downloader[T]) binding {
	return func(s *Server, op huma.Operation, row route) {
		op.Responses["200"] = &huma.Response{
			Description: "The file",
			Content:     map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
		}
		if strings.Contains(row.path, "{target}") {
			op.Parameters = []*huma.Param{{Name: "target", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}, Description: "an agent's name or a session's name"}}
		}
		if row.body > 0 {
			schema := s.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
			op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
		}
		s.huma.OpenAPI().AddOperation(&op)
		s.routes.HandleFunc(row.method+" "+row.path, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := s.Bound(r.Context(), always)
			defer cancel()
			file := &countingWriter{ResponseWriter: w, masked: redact.Stream{To: w}}
			in, err := readBody[T](w, r, row.body)
			if err == nil {
				w.Header().Set("Content-Type", contentType)
				if name != nil {
					w.Header().Set("Content-Disposition", disposition(name(r.PathValue("target"), in)))
				}
				out := &fileWriter{begun: &file.begun, to: httpwire.NewStreamWriter(w, s.Stall)}
				err = h(ctx, s.city, r.PathValue("target"), in, out)
			}
			if err != nil && r.Context().Err() == nil { // else the reader is gone
				w.Header().Del("Content-Disposition") // of a problem document; a file has begun with its header
				s.endStream(file, r, s.ErrorOf(ctx, err))
			}
		})
	}
}

// fileWriter writes a file to its reader, and records whether it has begun.
type fileWriter struct {
	begun *bool
	to    io.Writer
}

// Write writes p and records that the file has begun. It implements io.Writer.
func (f *fileWriter) Write(p []byte) (int, error) {
	*f.begun = true
	return f.to.Write(p)
}

// readBody decodes the body of a request of up to limit bytes; zero means that there is none. It
// refuses unknown fields.
func readBody[T any](w http.ResponseWriter, r *http.Request, limit int64) (T, error) {
	var in T
	if limit == 0 {
		return in, nil
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil && len(text) > 0 {
		err = httpkit.CheckUnicode(text)
	}
	if err == nil && len(text) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&in)
	}
	if err != nil {
		return in, fmt.Errorf("%w: the body is not valid: %w", client.ErrInvalid, err)
	}
	return in, nil
}

// endStream reports that a stream failed with err: by a problem document if nothing was sent yet,
// otherwise by closing the connection, so that the reader sees that the stream is incomplete.
func (s *Server) endStream(w *countingWriter, r *http.Request, err error) {
	if !w.begun {
		s.WriteProblem(w, err)
		return
	}
	s.Log.Warn("a stream ended", "path", r.URL.Path, "error", err)
	panic(http.ErrAbortHandler) // net/http then closes the connection, so the reader sees that the stream is incomplete
}

// streamParameters returns the description of the parameters of a stream's route. The handlers of
// streams parse them themselves.
func streamParameters(row route) []*huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	if row.limit > 0 {
		return nil // such a stream has no parameters
	}
	if strings.HasSuffix(row.path, "/status/stream") || row.id == "present" {
		return nil
	}
	if row.id == "screens" {
		return []*huma.Param{
			{Name: "target", In: "query", Required: true, Schema: &huma.Schema{Type: huma.TypeArray, Items: text}, Description: "agents or sessions, at most 64; the parameter is repeated"},
			{Name: "style", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{client.StyleLines, client.StyleOutput}}, Description: "lines: styled text, at most three updates of a target in a second (the default); output: for a terminal emulator"},
		}
	}
	if strings.HasSuffix(row.path, "/conversation/stream") {
		return []*huma.Param{
			{Name: "target", In: "path", Required: true, Schema: text, Description: "an agent's name or a session's name"},
			{Name: "limit", In: "query", Schema: &huma.Schema{Type: huma.TypeInteger}, Description: "how many entries at first, at most; 0: 100"},
			{Name: "since", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"}, Description: "at first only entries from then on"},
		}
	}
	if strings.Contains(row.path, "{target}") {
		return []*huma.Param{
			{Name: "target", In: "path", Required: true, Schema: text, Description: "an agent's name or a session's name"},
			{Name: "since", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"}, Description: "output from then on"},
			{Name: "until", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"}, Description: "output up to then; not with follow"},
			{Name: "follow", In: "query", Schema: &huma.Schema{Type: huma.TypeBoolean}, Description: "continue with new output"},
		}
	}
	return []*huma.Param{
		{Name: "Last-Event-ID", In: "header", Schema: text, Description: "the id of the last event that the reader has"},
		{Name: "after", In: "query", Schema: text, Description: "same as Last-Event-ID, for readers that cannot set a header"},
		{Name: "since", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"}, Description: "only events from then on"},
		{Name: "target", In: "query", Schema: text, Description: "only events of the agent or session of this name"},
	}
}

// countingWriter records whether the answer has begun, and masks secrets in it. All streams are
// written through it.
type countingWriter struct {
	http.ResponseWriter
	masked redact.Stream
	begun  bool
}

// Write writes p with secrets masked, and records that the answer has begun. It implements io.Writer.
func (w *countingWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.masked.Write(p)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// problem is a problem document in the form that huma can write.
type problem struct{ *client.Problem }

// GetStatus implements huma.StatusError: it returns the HTTP status.
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter: it returns the content type of problem documents.
func (p *problem) ContentType(string) string { return httpwire.ProblemType }

// translate converts an error document of huma (the HTTP library), such as a validation error, to a
// problem document. It returns any other value unchanged.
func translate(_ huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	text := []string{model.Detail}
	for _, detail := range model.Errors {
		text = append(text, strings.TrimPrefix(detail.Location+": ", ": ")+detail.Message)
	}
	p := client.ProblemOf(client.ErrInvalid)
	p.Detail = p.Title + ": " + strings.Join(text, "; ")
	p.Status = model.Status
	return &problem{p}, nil
}
