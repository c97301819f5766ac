package controlapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"gascity/client"
)

// Named names an agent or a session. It is exported because huma reads only exported fields, also
// of embedded types.
type Named struct {
	Target string `path:"target" minLength:"1" maxLength:"1024" doc:"an agent's name or a session's name"`
}

func explain(ctx context.Context, city City, in *Named) (*reply[client.Explanation], error) {
	return answer(city.Explain(ctx, in.Target))
}

func session(ctx context.Context, city City, in *Named) (*reply[client.Session], error) {
	return answer(city.Session(ctx, in.Target))
}

// peekInput selects lines of output.
type peekInput struct {
	Named
	Lines int `query:"lines" minimum:"0" maximum:"1000000" doc:"how many lines; 0: the visible screen"`
}

func peek(ctx context.Context, city City, in *peekInput) (*reply[client.Output], error) {
	return answer(city.Peek(ctx, in.Target, in.Lines))
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

func interrupt(ctx context.Context, city City, in *instanceInput) (*reply[client.Done], error) {
	return answer(city.Interrupt(ctx, in.Target, in.request()))
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

func clearInput(ctx context.Context, city City, in *instanceInput) (*reply[client.Done], error) {
	return answer(city.ClearInput(ctx, in.Target, in.request()))
}

// copyInput is a copy into a target's working directory.
type copyInput struct {
	Named
	Body client.CopyRequest
}

func copyInto(ctx context.Context, city City, in *copyInput) (*reply[client.Done], error) {
	return answer(city.Copy(ctx, in.Target, in.Body))
}

func kill(ctx context.Context, city City, in *instanceInput) (*reply[client.StopResult], error) {
	return answer(city.Kill(ctx, in.Target, in.request()))
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
	return recorder.Logs(ctx, r.PathValue("target"), q, s.stream(w))
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
