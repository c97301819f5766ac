package workerapi

import (
	"bytes"
	"context"
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

	"gascity/internal/domain/workerrun"
	"gascity/internal/jsontext"
	"gascity/worker"
)

// binding is the handler of a route, with the types of its request and answer.
type binding struct {
	serve           func(s *Server, row route, who workerrun.Caller, w http.ResponseWriter, r *http.Request) error
	request, answer reflect.Type // nil: none
}

// guarded returns the handler of a route with the check of its caller.
func (s *Server) guarded(row route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.caller(r)
		if err == nil {
			err = row.serve.serve(s, row, who, w, r)
		}
		if err != nil {
			s.refuse(w, r, err)
		}
	}
}

// body returns the binding of a route with a JSON body. of returns the run_id in the body; if it is
// empty, the caller's own run is used.
func body[I, O any](of func(*I) *string, do func(ctx context.Context, c City, id string, in I, q url.Values) (O, error)) binding {
	return binding{
		request: reflect.TypeFor[I](), answer: reflect.TypeFor[O](),
		serve: func(s *Server, row route, who workerrun.Caller, w http.ResponseWriter, r *http.Request) error {
			var in I
			if err := decode(w, r, row, &in); err != nil {
				return err
			}
			id := of(&in)
			if *id == "" {
				*id = who.Run
			}
			if err := row.may(who, *id); err != nil {
				return err
			}
			ctx, cancel := s.bound(r, row)
			defer cancel()
			var q url.Values // nil is none
			if r.URL.RawQuery != "" {
				q = r.URL.Query()
			}
			out, err := do(ctx, s.city, *id, in, q)
			if err != nil {
				return timeoutError(ctx, err)
			}
			return write(s, row, w, out)
		},
	}
}

// query returns the binding of a route without a body.
func query[O any](do func(ctx context.Context, c City, id string, q url.Values) (O, error)) binding {
	return binding{
		answer: reflect.TypeFor[O](),
		serve: func(s *Server, row route, who workerrun.Caller, w http.ResponseWriter, r *http.Request) error {
			q := r.URL.Query()
			id := q.Get("run_id")
			if id == "" && !row.all {
				id = who.Run
			}
			if id == "" && row.all && !who.Owner {
				id = who.Run
			}
			if err := row.may(who, id); err != nil {
				return err
			}
			ctx, cancel := s.bound(r, row)
			defer cancel()
			out, err := do(ctx, s.city, id, q)
			if err != nil {
				return timeoutError(ctx, err)
			}
			return write(s, row, w, out)
		},
	}
}

// events returns the events after a cursor.
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

// errEnding is the error of a wait that ends because the controller stops.
var errEnding = fmt.Errorf("%w: the city's controller is stopping; ask the next controller again", worker.ErrUnavailable)

// timeoutError returns the API's error if ctx has ended, otherwise err.
func timeoutError(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
	case errors.Is(cause, errEnding):
		return errEnding
	case errors.Is(err, context.DeadlineExceeded):
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
	text, err := readAll(http.MaxBytesReader(w, r.Body, row.body), min(r.ContentLength, row.body))
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
		if err := jsontext.CheckUnicode(text); err != nil {
			return fmt.Errorf("%w: %w", worker.ErrInvalid, err)
		}
	}
	if err := parse(text, into); err != nil {
		return fmt.Errorf("%w: %w", worker.ErrInvalid, err)
	}
	return nil
}

const jsonType = "application/json"

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

// readAll reads a body of the declared length. A negative length means unknown.
func readAll(body io.Reader, length int64) ([]byte, error) {
	if length < 0 || length > maxAhead {
		return io.ReadAll(body)
	}
	text := bytes.NewBuffer(make([]byte, 0, length+bytes.MinRead))
	_, err := text.ReadFrom(body)
	return text.Bytes(), err
}

// write answers with a value as JSON. Secrets are masked unless row.exact is set. A value of type
// none is answered with status 204.
func write[O any](s *Server, row route, w http.ResponseWriter, out O) error {
	if err := deadline(w); err != nil {
		return err
	}
	if _, empty := any(out).(none); empty {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	text, err := workerrun.Text(out)
	if err != nil {
		return err
	}
	if !row.exact {
		text = s.secrets.JSON(text)
	}
	w.Header()["Content-Type"] = isOfJSON
	_, _ = w.Write(text) // an error means that the reader is gone
	return nil
}

// deadline sets the time within which the reader must receive the answer.
func deadline(w http.ResponseWriter) error {
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(slow))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

const problemType = "application/problem+json"

// writeProblem writes a problem document, with secrets masked.
func (s *Server) writeProblem(w http.ResponseWriter, p *worker.Problem) {
	text, err := s.secrets.Encode(p)
	if err != nil {
		http.Error(w, s.secrets.Text(p.Detail), p.Status)
		return
	}
	w.Header().Set("Content-Type", problemType)
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(text) // as above
}
