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

// binding attaches a route to the server: it registers the handler and
// describes it.
type binding func(s *Server, op huma.Operation, row route)

// handler answers one request from the city. Its input and output types are the
// route's request and response in the description.
type handler[I, O any] func(ctx context.Context, city City, in *I) (*O, error)

// streamer answers with a stream. An error before the first byte becomes a
// problem document, one after it ends the connection.
type streamer func(ctx context.Context, s *Server, w http.ResponseWriter, r *http.Request) error

// bind makes the binding of a JSON route.
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

// waiter answers when a condition holds, however long that takes. Its ctx ends
// when the caller hangs up or the server ends.
type waiter[I, O any] func(ctx context.Context, s *Server, in *I) (*O, error)

// errEnding is why a wait is over that nothing else has ended.
var errEnding = fmt.Errorf("%w: the controller is ending; ask the next one again", client.ErrUnavailable)

// bindWait makes the binding of a JSON route whose answer waits.
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

// bound returns the context of a handler: a question ends with its connection;
// what changes something ends with the server only, and both with the limit.
func (s *Server) bound(parent context.Context, row route) (context.Context, context.CancelFunc) {
	if row.access == reads {
		return context.WithTimeout(parent, row.limit)
	}
	return s.detached(parent, row.limit)
}

// detached returns a context that outlives the connection.
func (s *Server) detached(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), limit)
	unhook := unixhttp.LifetimeOf(parent).OnEnd(cancel)
	return ctx, func() { unhook(); cancel() }
}

// stream makes the binding of a route that answers with a stream.
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

func (s *Server) endStream(w *countingWriter, r *http.Request, err error) {
	if !w.begun {
		s.writeProblem(w, client.ProblemOf(err))
		return
	}
	s.log.Warn("a stream ended", "path", r.URL.Path, "error", err)
	panic(http.ErrAbortHandler) // the only way to show the reader that this is not the end
}

// streamParameters describes the parameters that streams read by themselves.
func streamParameters(row route) []*huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	if row.limit > 0 {
		return nil // it has none
	}
	if strings.Contains(row.path, "{target}") {
		return []*huma.Param{
			{Name: "target", In: "path", Required: true, Schema: text, Description: "an agent's name or a session's name"},
			{Name: "since", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"}, Description: "output from then on"},
			{Name: "until", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"}, Description: "output up to then; it excludes follow"},
			{Name: "follow", In: "query", Schema: &huma.Schema{Type: huma.TypeBoolean}, Description: "continue with new output"},
		}
	}
	return []*huma.Param{
		{Name: "Last-Event-ID", In: "header", Schema: text, Description: "the id of the last event that the reader has"},
		{Name: "after", In: "query", Schema: text, Description: "the same, where no header can be set"},
		{Name: "since", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"}, Description: "no event that is older"},
		{Name: "target", In: "query", Schema: text, Description: "only events of the agent or session of this name"},
	}
}

// countingWriter knows whether the answer has begun, and masks secrets in it: no stream can
// be written in another way.
type countingWriter struct {
	http.ResponseWriter
	masked redact.Stream
	begun  bool
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.masked.Write(p)
}

// Unwrap lets http.ResponseController find the connection.
func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// streamWriter sends each write at once and cuts off a reader that does not
// take it in time.
type streamWriter struct {
	w     http.ResponseWriter
	stall time.Duration
}

// maxStall is how long one write may wait for its reader.
const maxStall = 10 * time.Second

func (s *Server) stream(w http.ResponseWriter) *streamWriter {
	return &streamWriter{w: w, stall: s.stall}
}

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

// problem lets huma write a problem document.
type problem struct{ *client.Problem }

// GetStatus is huma's question for the HTTP status.
func (p *problem) GetStatus() int { return p.Status }

// ContentType is huma's question for the type of the document.
func (p *problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// translate makes our problem document of huma's own: what its validation says.
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

func (s *Server) writeProblem(w http.ResponseWriter, p *client.Problem) {
	text, err := s.secrets.Encode(p)
	if err != nil {
		http.Error(w, s.secrets.Text(p.Detail), p.Status)
		return
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(text) // the reader has gone; there is no receiver
}
