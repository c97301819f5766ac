package controlapi

import (
	"context"
	"fmt"

	"gascity/client"
)

var errNoWeb = fmt.Errorf("%w: this controller has no web console", client.ErrUnsupported)

// onWeb returns the handler of a request about the web console without parameters, which calls the
// method of of [WebConsole].
func onWeb[T any](of func(WebConsole, context.Context) (T, error)) handler[none, reply[T]] {
	return func(ctx context.Context, city City, _ *none) (*reply[T], error) {
		web, ok := city.(WebConsole)
		if !ok {
			return nil, errNoWeb
		}
		return answer(of(web, ctx))
	}
}

type startWebInput struct{ Body client.WebRequest }

// startWeb starts the web console.
func startWeb(ctx context.Context, city City, in *startWebInput) (*reply[client.Web], error) {
	web, ok := city.(WebConsole)
	if !ok {
		return nil, errNoWeb
	}
	return answer(web.StartWeb(ctx, in.Body))
}

type webCodeInput struct{ Body client.WebCodeRequest }

// newWebCode returns a code that signs one device in.
func newWebCode(ctx context.Context, city City, in *webCodeInput) (*reply[client.WebCode], error) {
	web, ok := city.(WebConsole)
	if !ok {
		return nil, errNoWeb
	}
	if err := in.Body.Check(); err != nil {
		return nil, err
	}
	return answer(web.NewWebCode(ctx, in.Body))
}

// webDevices returns the devices that are signed in.
func webDevices(ctx context.Context, city City, _ *none) (*reply[[]client.WebDevice], error) {
	web, ok := city.(WebConsole)
	if !ok {
		return nil, errNoWeb
	}
	return rows(web.WebDevices(ctx))
}

// revokeWebDevice signs a device out.
func revokeWebDevice(ctx context.Context, city City, in *Identified) (*reply[client.WebDevice], error) {
	web, ok := city.(WebConsole)
	if !ok {
		return nil, errNoWeb
	}
	return answer(web.RevokeWebDevice(ctx, in.ID))
}
