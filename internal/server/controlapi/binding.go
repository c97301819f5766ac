package controlapi

import (
	"context"
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

// handler answers one request. Its input type is the request in the API description, its result the body of the answer.
type handler[I, T any] func(ctx context.Context, city City, in *I) (T, error)

// streamer answers a request with a stream. An error before the first byte becomes a problem
// document; a later error closes the connection.
type streamer func(ctx context.Context, s *Server, w http.ResponseWriter, r *http.Request) error

// The inputs of requests. The embedded ones are exported because huma reads only exported fields.
type (
	// none is the input of a request without parameters.
	none struct{}
	// Named names an agent or a session.
	Named struct {
		Target string `path:"target" minLength:"1" maxLength:"1024" doc:"an agent's name or a session's name"`
	}
	// Identified names a receipt, a pending question or a wait by its ID.
	Identified struct {
		ID string `path:"id" minLength:"1" maxLength:"256" doc:"the ID of the receipt, question or wait"`
	}
	bodyInput[B any]  struct{ Body B }
	namedInput[B any] struct { // a missing body is nil if B is a pointer
		Named
		Body B
	}
	identifiedInput[B any] struct { // a missing body is nil if B is a pointer
		Identified
		Body B
	}
)

// reply is the output of a route: one JSON document.
type reply[T any] struct{ Body T }

// bind returns the binding of a route that the handler h answers with a JSON document. An empty list is [] and not null.
func bind[I, T any](h handler[I, T]) binding {
	return func(s *Server, op huma.Operation, row route) {
		huma.Register(s.huma, op, func(parent context.Context, in *I) (*reply[T], error) {
			ctx, cancel := s.bound(parent, row)
			defer cancel()
			out, err := h(ctx, s.city, in)
			if err != nil {
				return nil, &problem{client.ProblemOf(s.ErrorOf(ctx, err))}
			}
			if list := reflect.ValueOf(&out).Elem(); list.Kind() == reflect.Slice && list.IsNil() {
				list.Set(reflect.MakeSlice(list.Type(), 0, 0))
			}
			return &reply[T]{Body: out}, nil
		})
	}
}

// bound returns the context of a handler, with the route's time limit. If the route only reads, or may answer after any time, the
// context also ends when the caller disconnects. Otherwise the change continues in that case.
func (s *Server) bound(parent context.Context, row route) (context.Context, context.CancelFunc) {
	switch {
	case row.limit == always:
		return s.Bound(parent, always)
	case row.access == reads:
		return context.WithTimeout(parent, row.limit)
	}
	return httpkit.Detached(parent, row.limit)
}

// ask returns the binding of a request without parameters, which calls the method of of [City] and
// answers with its result.
func ask[T any](of func(City, context.Context) (T, error)) binding {
	return bind(func(ctx context.Context, city City, _ *none) (T, error) { return of(city, ctx) })
}

// askOf is [ask] for a request about one agent or session.
func askOf[T any](of func(City, context.Context, string) (T, error)) binding {
	return bind(func(ctx context.Context, city City, in *Named) (T, error) { return of(city, ctx, in.Target) })
}

// askID is [ask] for a request about something that has an ID.
func askID[T any](of func(City, context.Context, string) (T, error)) binding {
	return bind(func(ctx context.Context, city City, in *Identified) (T, error) { return of(city, ctx, in.ID) })
}

// send returns the binding of a request with a body, which calls the method of of [City] with the body if all checks return nil.
func send[B, T any](of func(City, context.Context, B) (T, error), checks ...func(B) error) binding {
	return bind(func(ctx context.Context, city City, in *bodyInput[B]) (T, error) {
		return checked(in.Body, checks, func() (T, error) { return of(city, ctx, in.Body) })
	})
}

// sendTo is [send] for a request to one agent or session.
func sendTo[B, T any](of func(City, context.Context, string, B) (T, error), checks ...func(B) error) binding {
	return bind(func(ctx context.Context, city City, in *namedInput[B]) (T, error) {
		return checked(in.Body, checks, func() (T, error) { return of(city, ctx, in.Target, in.Body) })
	})
}

// sendID is [send] for a request about something that has an ID.
func sendID[B, T any](of func(City, context.Context, string, B) (T, error), checks ...func(B) error) binding {
	return bind(func(ctx context.Context, city City, in *identifiedInput[B]) (T, error) {
		return checked(in.Body, checks, func() (T, error) { return of(city, ctx, in.ID, in.Body) })
	})
}

// checked returns the first error of the checks of a body, otherwise the result of do.
func checked[B, T any](body B, checks []func(B) error, do func() (T, error)) (out T, err error) {
	for _, check := range checks {
		if err := check(body); err != nil {
			return out, err
		}
	}
	return do()
}

// act is [sendTo] for a request for one instance, whose body may be missing.
func act[T any](of func(City, context.Context, string, client.LifecycleRequest) (T, error)) binding {
	return bind(func(ctx context.Context, city City, in *namedInput[*client.LifecycleRequest]) (T, error) {
		var req client.LifecycleRequest
		if in.Body != nil {
			req = *in.Body
		}
		return of(city, ctx, in.Target, req)
	})
}

// stream returns the binding of a route whose answer is a stream. contentType is that of the stream, and h writes it. h also parses
// the parameters.
func stream(contentType string, h streamer, parameters ...*huma.Param) binding {
	return func(s *Server, op huma.Operation, row route) {
		op.Responses["200"] = &huma.Response{
			Description: "The stream",
			Content:     map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeString}}},
		}
		op.Parameters = parameters
		s.huma.OpenAPI().AddOperation(&op)
		s.routes.HandleFunc(row.method+" "+row.path, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := s.Bound(r.Context(), always)
			defer cancel()
			masked := &redact.Stream{Redactor: s.Secrets, To: w}
			counted := &countingWriter{ResponseWriter: w, to: masked}
			counted.Header().Set("Content-Type", contentType)
			err := h(ctx, s, counted, r)
			if flushed := masked.Flush(); err == nil {
				err = flushed
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				s.endStream(counted, r, err)
			}
		})
	}
}

// downloader is a method of [City] that answers a request with a file. An error before the first byte becomes a problem document;
// a later error closes the connection.
type downloader[T any] func(city City, ctx context.Context, target string, in T, w io.Writer) error

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
			op.Parameters = []*huma.Param{targetParameter()}
		}
		if row.body > 0 {
			schema := s.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
			op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
		}
		s.huma.OpenAPI().AddOperation(&op)
		s.routes.HandleFunc(row.method+" "+row.path, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := s.Bound(r.Context(), always)
			defer cancel()
			file := &countingWriter{ResponseWriter: w, to: httpwire.NewStreamWriter(w, s.Stall)}
			in, err := readBody[T](w, r, row.body)
			if err == nil {
				w.Header().Set("Content-Type", contentType)
				if name != nil {
					w.Header().Set("Content-Disposition", disposition(name(r.PathValue("target"), in)))
				}
				err = h(s.city, ctx, r.PathValue("target"), in, file)
			}
			if err != nil && r.Context().Err() == nil { // else the reader is gone
				w.Header().Del("Content-Disposition") // of a problem document; a file has begun with its header
				s.endStream(file, r, s.ErrorOf(ctx, err))
			}
		})
	}
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
		err = httpkit.DecodeStrictly(text, &in)
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

// targetParameter describes the parameter of a path that names an agent or a session.
func targetParameter() *huma.Param {
	return &huma.Param{Name: "target", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}, Description: "an agent's name or a session's name"}
}

// timeParameter describes a parameter that is a time.
func timeParameter(name, description string) *huma.Param {
	return &huma.Param{Name: name, In: "query", Schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"}, Description: description}
}

// countingWriter is the writer of a stream or a file. It records whether the answer has begun.
type countingWriter struct {
	http.ResponseWriter
	to    io.Writer
	begun bool
}

// Write writes p and records that the answer has begun. It implements io.Writer.
func (w *countingWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.to.Write(p)
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
