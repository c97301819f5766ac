package controlapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gascity/client"
	"gascity/internal/redact"
	"gascity/internal/server/unixhttp"
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

// bind returns the binding of a JSON route.
func bind[I, O any](h handler[I, O]) binding {
	return func(s *Server, op huma.Operation, row route) {
		huma.Register(s.api, op, func(parent context.Context, in *I) (*O, error) {
			ctx, cancel := s.bound(parent, row)
			defer cancel()
			out, err := h(ctx, s.city, in)
			if err != nil {
				return nil, &problem{client.ProblemOf(err)}
			}
			return out, nil
		})
	}
}

// waiter answers when a condition holds, after any time. Its ctx ends when the caller disconnects
// or the server stops.
type waiter[I, O any] func(ctx context.Context, s *Server, in *I) (*O, error)

// errEnding is the error of a wait that ends because the controller stops.
var errEnding = fmt.Errorf("%w: the controller is stopping; ask the next controller again", client.ErrUnavailable)

// bindWait returns the binding of a JSON route whose answer waits for a condition.
func bindWait[I, O any](h waiter[I, O]) binding {
	return func(s *Server, op huma.Operation, _ route) {
		huma.Register(s.api, op, func(parent context.Context, in *I) (*O, error) {
			ctx, cancel := context.WithCancelCause(parent)
			defer cancel(nil)
			defer unixhttp.LifetimeOf(parent).OnClosing(func() { cancel(errEnding) })()
			out, err := h(ctx, s, in)
			if ended := errors.Is(err, context.Canceled) || errors.Is(err, client.ErrTimeout); ended && errors.Is(context.Cause(ctx), errEnding) {
				err = errEnding
			}
			if err != nil {
				return nil, &problem{client.ProblemOf(err)}
			}
			return out, nil
		})
	}
}

// bound returns the context of a handler. The context of a route that only reads ends with the
// connection. The context of a route that changes something ends with the server. Both have the
// route's time limit.
func (s *Server) bound(parent context.Context, row route) (context.Context, context.CancelFunc) {
	if row.access == reads {
		return context.WithTimeout(parent, row.limit)
	}
	return s.detached(parent, row.limit)
}

// detached returns a context that does not end with the connection. It ends after limit or with the
// server.
func (s *Server) detached(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), limit)
	unhook := unixhttp.LifetimeOf(parent).OnEnd(cancel)
	return ctx, func() { unhook(); cancel() }
}

// stream returns the binding of a route that answers with a stream.
func stream(contentType string, h streamer) binding {
	return func(s *Server, op huma.Operation, row route) {
		op.Responses["200"] = &huma.Response{
			Description: "The stream",
			Content:     map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeString}}},
		}
		op.Parameters = streamParameters(row)
		s.api.OpenAPI().AddOperation(&op)
		s.routes.HandleFunc(row.method+" "+row.path, func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer unixhttp.LifetimeOf(ctx).OnClosing(cancel)()
			counted := &countingWriter{ResponseWriter: w, masked: redact.Stream{Redactor: s.secrets, To: w}}
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

// endStream reports an error of a stream: as a problem document if nothing was sent, otherwise by
// closing the connection.
func (s *Server) endStream(w *countingWriter, r *http.Request, err error) {
	if !w.begun {
		s.writeProblem(w, client.ProblemOf(err))
		return
	}
	s.log.Warn("a stream ended", "path", r.URL.Path, "error", err)
	panic(http.ErrAbortHandler) // net/http then closes the connection, so the reader sees that the stream is incomplete
}

// streamParameters returns the description of the parameters that the handlers of streams parse
// themselves.
func streamParameters(row route) []*huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	if row.limit > 0 {
		return nil // such a stream has no parameters
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

// Write implements io.Writer.
func (w *countingWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.masked.Write(p)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// streamWriter sends each write at once. A write fails if the reader does not receive it in time.
type streamWriter struct {
	w     http.ResponseWriter
	stall time.Duration
}

// maxStall is how long one write may wait for its reader.
const maxStall = 10 * time.Second

// stream returns a streamWriter for an answer.
func (s *Server) stream(w http.ResponseWriter) *streamWriter {
	return &streamWriter{w: w, stall: s.stall}
}

// Write implements io.Writer.
func (s *streamWriter) Write(p []byte) (int, error) {
	control := http.NewResponseController(s.w)
	if err := control.SetWriteDeadline(time.Now().Add(s.stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := s.w.Write(p)
	if err != nil {
		return n, err
	}
	return n, control.Flush()
}

// problem is a problem document in the form that huma can write.
type problem struct{ *client.Problem }

// GetStatus implements huma.StatusError: it returns the HTTP status.
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter: it returns the content type of problem documents.
func (p *problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// translate returns a problem document for an error document of huma, such as a validation error.
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

// writeProblem writes a problem document, with secrets masked.
func (s *Server) writeProblem(w http.ResponseWriter, p *client.Problem) {
	text, err := s.secrets.Encode(p)
	if err != nil {
		http.Error(w, s.secrets.Text(p.Detail), p.Status)
		return
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(text) // an error means that the reader is gone
}
