package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	pathpkg "path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gascity/internal/httpwire"
)

// VersionHeader is the HTTP header with the sender's version, in requests and responses. The server
// refuses a request that changes something without it, because a browser cannot send it.
const VersionHeader = "Gc-Version"

// APIHost is the host in every request's URL. The socket, not the host, selects the controller.
const APIHost = "city"

// maxAnswer is the maximum size of one decoded response, in bytes.
const maxAnswer = 64 << 20

// Client sends requests to the controller of one city. Set the fields before the first use and do
// not change them afterwards. Root or Socket is required. Methods may be called concurrently. Every
// method returns when ctx ends; an operation that the controller has begun then continues.
type Client struct {
	// Root is the city directory. Messages name it, and its [SocketPath] is the default of Socket.
	Root string
	// Socket is the path of the control socket.
	Socket string
	// Dial connects to the controller. If it is nil, the client checks that the directory of Socket
	// belongs to this user, and connects to Socket.
	Dial func(ctx context.Context) (net.Conn, error)
	// Version is sent with every request. Empty means "unknown".
	Version string
	// Patience is the limit for each request that changes nothing, is not a stream and does not
	// wait for a condition. Zero means no limit. At the limit the error is [ErrTimeout].
	Patience time.Duration
	// OnSkew is called once, with the first response of a controller of another version. It may be
	// nil.
	OnSkew func(ours, theirs string)

	once sync.Once
	skew sync.Once
	http *http.Client
}

// Close closes idle connections. The client can be used again afterwards.
func (c *Client) Close() { c.transport().CloseIdleConnections() }

// transport returns the HTTP client, which connects to the city's control socket. The first call creates it.
func (c *Client) transport() *http.Client {
	c.once.Do(func() {
		c.http = &http.Client{Transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
			DisableCompression: true,
			MaxIdleConns:       4,
		}}
	})
	return c.http
}

// call sends one request and decodes the response into T. Patience limits a GET request.
func call[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	if c.Patience > 0 && method == http.MethodGet {
		bounded, cancel := context.WithTimeoutCause(ctx, c.Patience, fmt.Errorf("%w: the controller has not answered for %v; check it with: gc doctor", ErrTimeout, c.Patience))
		defer cancel()
		ctx = bounded
	}
	return callLong[T](ctx, c, method, path, body)
}

// callLong is like call without the limit of Patience, for requests that wait for a condition.
func callLong[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var answer T
	content, err := c.open(ctx, method, path, body)
	if err != nil {
		return answer, err
	}
	defer content.Close()
	if err := json.NewDecoder(io.LimitReader(content, maxAnswer)).Decode(&answer); err != nil {
		return answer, fmt.Errorf("cannot read the controller's answer to %s %s: %w", method, path, c.explain(ctx, err))
	}
	return answer, nil
}

// open sends a request and returns the body of the response if it is a success. The caller must close it.
func (c *Client) open(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	res, err := c.roundTrip(req)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// request returns a request to the control API with body as JSON; a nil body sends none. An invalid path is an error.
func (c *Client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("cannot encode the request %s %s: %w", method, path, err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+APIHost+path, content)
	if err != nil {
		return nil, fmt.Errorf("cannot make the request %s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set(VersionHeader, cmp.Or(c.Version, "unknown"))
	return req, nil
}

// checkPath returns an error that matches [ErrNotFound] if a name in the path is empty, "." or
// "..". No object has such a name, and a server would read it as another path.
func checkPath(path string) error {
	path, _, _ = strings.Cut(path, "?")
	for i, segment := range strings.Split(path, "/")[1:] {
		name, err := url.PathUnescape(segment)
		if err != nil {
			return fmt.Errorf("%w: %q is not a path: %w", ErrInvalid, path, err)
		}
		if "/"+name == pathpkg.Clean("/"+name) && name != "" {
			continue
		}
		if i == 2 && strings.HasPrefix(path, "/v1/sessions/") {
			return fmt.Errorf("%w: no agent or session is called %q; gc status lists them", ErrNotFound, name)
		}
		return fmt.Errorf("%w: no object has the name %q", ErrNotFound, name)
	}
	return nil
}

// getAttempts is how often a GET request is sent to controllers that exit before they answer, and
// getPause is the pause between two attempts. A process that was killed accepts connections for a
// moment longer.
const (
	getAttempts = 4
	getPause    = 10 * time.Millisecond
)

// roundTrip sends a request and returns the answer. A GET whose connection breaks is repeated, because that has no
// effect. If no controller can be reached, the error is a [NoControllerError]. An answer with status 400 or higher is
// returned as an error.
func (c *Client) roundTrip(req *http.Request) (*http.Response, error) {
	res, err := c.transport().Do(req)
	for try := 1; err != nil && broken(err) && req.Method == http.MethodGet; try++ {
		if try == getAttempts {
			return nil, &NoControllerError{City: c.city(), Err: err, Holder: c.holder()}
		}
		if !httpwire.Pause(req.Context(), getPause) {
			break
		}
		res, err = c.transport().Do(req)
	}
	if err != nil {
		return nil, c.explain(req.Context(), err)
	}
	c.checkVersion(res.Header.Get(VersionHeader))
	if res.StatusCode >= http.StatusBadRequest {
		defer res.Body.Close()
		return nil, readProblem(res)
	}
	return res, nil
}

// checkVersion calls OnSkew, once for each client, if the controller has another version than this program.
func (c *Client) checkVersion(theirs string) {
	if theirs == "" || c.Version == "" || theirs == c.Version || c.OnSkew == nil {
		return
	}
	c.skew.Do(func() { c.OnSkew(c.Version, theirs) })
}

// explain removes the method and the URL from a transport error, and returns [ErrTimeout] if a
// deadline has ended.
func (c *Client) explain(ctx context.Context, err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	switch {
	case errors.Is(err, ErrNoController), errors.Is(err, ErrForbidden):
		return err
	case errors.Is(context.Cause(ctx), ErrTimeout):
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w waiting for the controller", ErrTimeout)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case broken(err):
		return fmt.Errorf("%w: the controller exited before it answered: %w", ErrLost, err)
	}
	return err
}

// broken reports whether the connection ended before the response was complete.
func broken(err error) bool {
	ends := []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE}
	return slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
}
