package workerapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"gascity/internal/httpwire"
	"gascity/internal/server/httpkit"
	"gascity/worker"
)

// sendBuffer is the size of the system's send buffer in bytes, see [httpkit.API].
const sendBuffer = 16 << 10

// Options are the options of a server. The zero value is valid. Secrets are not masked in the stream
// and in the context, which are for the agent.
type Options = httpkit.Options

// Server serves the worker API of one city.
type Server struct {
	// The fields except streams do not change after NewServer.
	*httpkit.API
	city    City
	mux     *http.ServeMux
	streams streamSlots
}

// errEnding is the error of a wait that ends because the controller stops.
var errEnding = fmt.Errorf("%w: the city's controller is stopping; ask the next controller again", worker.ErrUnavailable)

// NewServer returns a server. It serves nothing until [Server.Run] is called.
func NewServer(city City, opts Options) *Server {
	s := &Server{city: city, mux: http.NewServeMux(), API: httpkit.New(httpkit.API{
		Options: opts, Name: "worker socket", Service: "city", SendBuffer: sendBuffer,
		Problem:   func(err error) httpwire.Problem { return httpwire.Problem(*worker.ProblemOf(err)) },
		Forbidden: worker.ErrForbidden, NotFound: worker.ErrNotFound, Ending: errEnding,
	})}
	for _, row := range routes() {
		s.mux.HandleFunc(row.method+" "+row.path, s.guarded(row))
	}
	s.mux.HandleFunc("GET /openapi.json", s.describe)
	s.mux.HandleFunc("/", s.RefusePath)
	return s
}

// Run serves on l, a Unix or a loopback TCP listener, until ctx ends. Then it waits up to 5 s for
// handlers, and returns nil when all have finished. It closes l. It may be called for several
// listeners at once.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	checks := []httpkit.Check{s.FromOwner, s.NotFromPage}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		port := ":" + strconv.Itoa(tcp.Port)
		checks = []httpkit.Check{s.FromOwnerIfKnown, s.ForHost("127.0.0.1"+port, "localhost"+port, "[::1]"+port), s.NotFromPage}
	}
	return s.API.Run(ctx, l, s.Handler(s.mux, checks...))
}
