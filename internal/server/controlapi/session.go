package controlapi

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gascity/client"
	"gascity/internal/httpwire"
)

// peekInput selects lines of output.
type peekInput struct {
	Named
	Lines int `query:"lines" minimum:"0" maximum:"1000000" doc:"how many lines; 0: the visible screen"`
}

// peek returns the last lines of an agent's output.
func peek(ctx context.Context, city City, in *peekInput) (client.Output, error) {
	return city.Peek(ctx, in.Target, in.Lines)
}

// screenInput selects the form of a screen.
type screenInput struct {
	Named
	Style string `query:"style" enum:"output,lines" doc:"output: for a terminal emulator (the default); lines: styled text"`
}

// screen returns what an agent's terminal shows, in the form that in.Style names.
func screen(ctx context.Context, city City, in *screenInput) (client.Screen, error) {
	return city.Screen(ctx, in.Target, client.ScreenStyle(cmp.Or(in.Style, string(client.StyleOutput))))
}

// screensParameters describes the parameters of [screens].
func screensParameters() []*huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	return []*huma.Param{
		{Name: "target", In: "query", Required: true, Schema: &huma.Schema{Type: huma.TypeArray, Items: text}, Description: "agents or sessions, at most 64; the parameter is repeated"},
		{Name: "style", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{client.StyleLines, client.StyleOutput}}, Description: "lines: styled text, at most three updates of a target in a second (the default); output: for a terminal emulator"},
	}
}

// screens streams the screens of several targets as server-sent events. It holds no update while the reader is slow: the next one
// has all changes until then.
func screens(ctx context.Context, s *Server, w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	targets, style := query["target"], client.ScreenStyle(cmp.Or(query.Get("style"), string(client.StyleLines)))
	switch {
	case len(targets) == 0 || len(targets) > client.MaxScreens:
		return fmt.Errorf("%w: name 1 to %d targets: ?target=NAME&target=NAME", client.ErrInvalid, client.MaxScreens)
	case style != client.StyleOutput && style != client.StyleLines:
		return fmt.Errorf("%w: style=%q is neither %s nor %s", client.ErrInvalid, style, client.StyleOutput, client.StyleLines)
	}
	return follow(ctx, s, w, "screen", func(ctx context.Context, send func(client.ScreenUpdate) error) error {
		return s.city.Screens(ctx, targets, style, send)
	})
}

// providers returns the runtime providers that can be selected.
func providers(ctx context.Context, city City, _ *none) (client.ProviderList, error) {
	list, err := city.Providers(ctx)
	return client.ProviderList{Providers: list}, err
}

// bundle writes a support bundle, which has no credentials.
func bundle(city City, ctx context.Context, _ string, _ none, w io.Writer) error { //nolint:revive // like a method of City
	return city.Bundle(ctx, w)
}

// logsParameters describes the parameters of [logs].
func logsParameters() []*huma.Param {
	return []*huma.Param{
		targetParameter(),
		timeParameter("since", "output from then on"),
		timeParameter("until", "output up to then; not with follow"),
		{Name: "follow", In: "query", Schema: &huma.Schema{Type: huma.TypeBoolean}, Description: "continue with new output"},
	}
}

// logs streams recorded output. An error before the first byte is a problem document; a later error
// closes the connection.
func logs(ctx context.Context, s *Server, w http.ResponseWriter, r *http.Request) error {
	q, err := logQuery(r)
	if err != nil {
		return err
	}
	return s.city.Logs(ctx, r.PathValue("target"), q, httpwire.NewStreamWriter(w, s.Stall))
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
