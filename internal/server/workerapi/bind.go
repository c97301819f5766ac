package workerapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/server/httpkit"
	"gascity/worker"
)

// binding is the handler of a route, with the types of its request and answer.
type binding struct {
	serve           func(s *Server, row route, who session.RunCaller, w http.ResponseWriter, r *http.Request) error
	request, answer reflect.Type // nil: none
}

// guarded returns the HTTP handler of a route: it identifies the caller, calls the route's handler,
// and answers an error with a problem document.
func (s *Server) guarded(row route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.caller(r)
		if err == nil {
			err = row.serve.serve(s, row, who, w, r)
		}
		if err != nil {
			s.Refuse(w, r, err)
		}
	}
}

// report returns the binding of a report about the run id, which the method do of [City] accepts.
func report[I, O any](do func(c City, ctx context.Context, id string, in I) (O, error)) binding {
	return body(func(ctx context.Context, c City, id string, in I, _ url.Values) (O, error) { return do(c, ctx, id, in) })
}

// reportOnly is [report] for a method without an answer.
func reportOnly[I any](do func(c City, ctx context.Context, id string, in I) error) binding {
	return report(func(c City, ctx context.Context, id string, in I) (none, error) { return none{}, do(c, ctx, id, in) })
}

// order returns the binding of a request to the run that its body names, which the method do of [City] carries out.
func order[I, O any](do func(c City, ctx context.Context, in I) (O, error)) binding {
	return body(func(ctx context.Context, c City, _ string, in I, _ url.Values) (O, error) { return do(c, ctx, in) })
}

// body returns the binding of a route whose request has a JSON body of type I. do handles it. If the field RunID of the body is
// empty, the caller's own run is used.
func body[I, O any](do func(ctx context.Context, c City, id string, in I, q url.Values) (O, error)) binding {
	field, ok := reflect.TypeFor[I]().FieldByName("RunID")
	if !ok || len(field.Index) != 1 || field.Type.Kind() != reflect.String {
		panic(fmt.Sprintf("%T has no field RunID", *new(I)))
	}
	return binding{
		request: reflect.TypeFor[I](), answer: reflect.TypeFor[O](),
		serve: func(s *Server, row route, who session.RunCaller, w http.ResponseWriter, r *http.Request) error {
			var in I
			if err := decode(w, r, row, &in); err != nil {
				return err
			}
			run := reflect.ValueOf(&in).Elem().Field(field.Index[0])
			if run.Len() == 0 {
				run.SetString(who.Run)
			}
			id := run.String()
			if err := row.may(who, id); err != nil {
				return err
			}
			ctx, cancel := s.Bound(r.Context(), row.limit)
			defer cancel()
			var q url.Values // nil is none
			if r.URL.RawQuery != "" {
				q = r.URL.Query()
			}
			out, err := do(ctx, s.city, id, in, q)
			if err != nil {
				return s.errorOf(ctx, err)
			}
			return write(s, row, w, out)
		},
	}
}

// query returns the binding of a route without a body; do handles its query parameters. Without the
// parameter run_id, the caller's own run is used.
func query[O any](do func(ctx context.Context, c City, id string, q url.Values) (O, error)) binding {
	return binding{
		answer: reflect.TypeFor[O](),
		serve: func(s *Server, row route, who session.RunCaller, w http.ResponseWriter, r *http.Request) error {
			q := r.URL.Query()
			id := q.Get("run_id")
			if id == "" && (!row.all || !who.Owner) {
				id = who.Run
			}
			if err := row.may(who, id); err != nil {
				return err
			}
			ctx, cancel := s.Bound(r.Context(), row.limit)
			defer cancel()
			out, err := do(ctx, s.city, id, q)
			if err != nil {
				return s.errorOf(ctx, err)
			}
			return write(s, row, w, out)
		},
	}
}

// events returns a page of the recorded events of a run. q has the parameters after, the number of
// the last event that the reader has, and limit.
func events(ctx context.Context, c City, id string, q url.Values) ([]worker.Event, error) {
	after, err := number(q.Get("after"))
	if err != nil {
		return nil, err
	}
	limit, err := number(q.Get("limit"))
	if err != nil {
		return nil, err
	}
	page, err := c.Events(ctx, id, after, int(min(limit, math.MaxInt32))) //nolint:gosec // bounded
	if page == nil && err == nil {
		page = []worker.Event{}
	}
	return page, err
}

// maxNumber is the largest event number: JSON readers represent all numbers up to it exactly.
const maxNumber = 1 << 53

// number parses the number of an event. An empty text is zero.
func number(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > maxNumber {
		return 0, fmt.Errorf("%w: %q is not an event number", worker.ErrInvalid, text)
	}
	return n, nil
}

// errorOf returns the error to answer with if a handler returned err. If its context ended because
// of the time limit or the end of the service, the error says that.
func (s *Server) errorOf(ctx context.Context, err error) error {
	err = s.ErrorOf(ctx, err)
	if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: the city took too long", worker.ErrTimeout)
	}
	return err
}

// decode reads a JSON body. Unknown fields are ignored, because a newer worker may send them.
func decode(w http.ResponseWriter, r *http.Request, row route, into any) error {
	if kind := r.Header.Get("Content-Type"); !isJSON(kind) {
		return fmt.Errorf("%w: Content-Type is %q, must be application/json", worker.ErrInvalid, kind)
	}
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(slow)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	text, err := readBody(w, r, row.body)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return fmt.Errorf("%w: the body has more than %d bytes", worker.ErrTooLarge, row.body)
	}
	if err != nil {
		return fmt.Errorf("%w: cannot read the whole body: %w", worker.ErrInvalid, err)
	}
	if err := errors.Join(r.Body.Close(), control.SetReadDeadline(time.Time{})); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return fmt.Errorf("%w: the body is empty", worker.ErrInvalid)
	}
	if _, exact := into.(*worker.Prompt); exact {
		if err := httpkit.CheckUnicode(text); err != nil {
			return fmt.Errorf("%w: %w", worker.ErrInvalid, err)
		}
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: %w", worker.ErrInvalid, err)
	}
	return nil
}

const jsonType = "application/json"

// isOfJSON is the value of the header Content-Type of a JSON answer. It must not be changed.
var isOfJSON = []string{jsonType}

// isJSON reports whether a content type is JSON.
func isJSON(kind string) bool {
	if kind == jsonType {
		return true
	}
	kind, _, err := mime.ParseMediaType(kind)
	return err == nil && kind == jsonType
}

// maxAhead is how much memory is reserved at most for a body before it arrives, in bytes.
const maxAhead = 64 << 10

// readBody reads the body of a request. A body of more than limit bytes is an error.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength < 0 || r.ContentLength > min(limit, maxAhead) {
		return io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	}
	text := make([]byte, r.ContentLength) // net/http does not read more
	_, err := io.ReadFull(r.Body, text)
	return text, err
}

// write answers a request with out as JSON. Secrets are masked unless row.exact is set. If out has
// the type none, the answer is the status 204 without a body.
func write[O any](s *Server, row route, w http.ResponseWriter, out O) error {
	if err := httpkit.SetDeadline(w, slow); err != nil {
		return err
	}
	if _, empty := any(out).(none); empty {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	if !row.exact {
		text = s.Secrets.JSON(text)
	}
	w.Header()["Content-Type"] = isOfJSON
	_, _ = w.Write(text) // an error means that the reader is gone
	return nil
}
