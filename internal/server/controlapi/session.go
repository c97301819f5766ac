package controlapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"gascity/client"
	"gascity/internal/httpwire"
)

// Named names an agent or a session. It is exported because huma reads only exported fields, also
// of embedded types.
type Named struct {
	Target string `path:"target" minLength:"1" maxLength:"1024" doc:"an agent's name or a session's name"`
}

// peekInput selects lines of output.
type peekInput struct {
	Named
	Lines int `query:"lines" minimum:"0" maximum:"1000000" doc:"how many lines; 0: the visible screen"`
}

// peek answers with the last lines of an agent's output.
func peek(ctx context.Context, city City, in *peekInput) (*reply[client.Output], error) {
	return answer(city.Peek(ctx, in.Target, in.Lines))
}

// errNoScreens is the error of a city without a [Screener].
var errNoScreens = fmt.Errorf("%w: this city shows no screens; see the text with: gc peek", client.ErrUnsupported)

// screenInput selects the form of a screen.
type screenInput struct {
	Named
	Style string `query:"style" enum:"output,lines" doc:"output: for a terminal emulator (the default); lines: styled text"`
}

// screen answers with what an agent's terminal shows, in the form that in.Style names.
func screen(ctx context.Context, city City, in *screenInput) (*reply[client.Screen], error) {
	s, ok := city.(Screener)
	if !ok {
		return nil, errNoScreens
	}
	return answer(s.Screen(ctx, in.Target, client.ScreenStyle(cmp.Or(in.Style, string(client.StyleOutput)))))
}

// screens streams the screens of several targets as server-sent events. It holds no update while the reader is slow: the next one
// has all changes until then.
func screens(ctx context.Context, s *Server, w http.ResponseWriter, r *http.Request) error {
	screener, ok := s.city.(Screener)
	if !ok {
		return errNoScreens
	}
	query := r.URL.Query()
	targets, style := query["target"], client.ScreenStyle(cmp.Or(query.Get("style"), string(client.StyleLines)))
	switch {
	case len(targets) == 0 || len(targets) > client.MaxScreens:
		return fmt.Errorf("%w: name 1 to %d targets: ?target=NAME&target=NAME", client.ErrInvalid, client.MaxScreens)
	case style != client.StyleOutput && style != client.StyleLines:
		return fmt.Errorf("%w: style=%q is neither %s nor %s", client.ErrInvalid, style, client.StyleOutput, client.StyleLines)
	}
	return follow(ctx, s, w, "screen", func(ctx context.Context, send func(client.ScreenUpdate) error) error {
		return screener.Screens(ctx, targets, style, send)
	})
}

// instanceInput is the input of an operation on one instance. Its body may be missing.
type instanceInput struct {
	Named
	Body *client.LifecycleRequest
}

// request returns the body, or an empty request if the body is missing.
func (in *instanceInput) request() client.LifecycleRequest {
	if in.Body == nil {
		return client.LifecycleRequest{}
	}
	return *in.Body
}

// act returns the handler of a request for one instance. verb is the method of [City] that carries it out. The body of the
// request may be missing.
func act[T any](verb func(City, context.Context, string, client.LifecycleRequest) (T, error)) handler[instanceInput, reply[T]] {
	return func(ctx context.Context, city City, in *instanceInput) (*reply[T], error) {
		return answer(verb(city, ctx, in.Target, in.request()))
	}
}

// keysInput are key events for a target.
type keysInput struct {
	Named
	Body client.KeysRequest
}

// keys sends key events to the agent's terminal.
func keys(ctx context.Context, city City, in *keysInput) (*reply[client.Done], error) {
	if len(in.Body.Keys) == 0 {
		return nil, fmt.Errorf("%w: no keys", client.ErrInvalid)
	}
	return answer(city.Keys(ctx, in.Target, in.Body))
}

// copyInput is a copy into a target's working directory.
type copyInput struct {
	Named
	Body client.CopyRequest
}

// copyInto copies a file or folder into an agent's working directory.
func copyInto(ctx context.Context, city City, in *copyInput) (*reply[client.Done], error) {
	return answer(city.Copy(ctx, in.Target, in.Body))
}

// logs streams recorded output. An error before the first byte is a problem document; a later error
// closes the connection.
func logs(ctx context.Context, s *Server, w http.ResponseWriter, r *http.Request) error {
	recorder, ok := s.city.(Recorder)
	if !ok {
		return fmt.Errorf("%w: this city records no output", client.ErrUnsupported)
	}
	q, err := logQuery(r)
	if err != nil {
		return err
	}
	return recorder.Logs(ctx, r.PathValue("target"), q, httpwire.NewStreamWriter(w, s.Stall))
}

// logQuery parses the parameters of the logs route.
func logQuery(r *http.Request) (client.LogQuery, error) {
	var q client.LogQuery
	var err error
	if q.Since, err = timeOf(r, "since"); err != nil {
		return q, err
	}
	if q.Until, err = timeOf(r, "until"); err != nil {
		return q, err
	}
	if follow := r.FormValue("follow"); follow != "" {
		if q.Follow, err = strconv.ParseBool(follow); err != nil {
			return q, fmt.Errorf("%w: follow=%q is neither true nor false", client.ErrInvalid, follow)
		}
	}
	if q.Follow && !q.Until.IsZero() {
		return q, fmt.Errorf("%w: follow and until exclude each other: leave one out", client.ErrInvalid)
	}
	return q, nil
}

// timeOf parses a time parameter of a stream. A missing parameter is the zero time.
func timeOf(r *http.Request, name string) (time.Time, error) {
	text := r.FormValue(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, fmt.Errorf("%w: %s=%q is not an RFC 3339 time", client.ErrInvalid, name, text)
	}
	return t, nil
}
