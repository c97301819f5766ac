package workerapi

import (
	"fmt"
	"net/http"
	"strings"

	"gascity/internal/domain/session"
	"gascity/worker"
)

// caller returns who sent a request, by the token in its header Authorization. It returns an error
// if the token is missing, unknown or expired.
func (s *Server) caller(r *http.Request) (session.RunCaller, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return session.RunCaller{}, fmt.Errorf("%w: the header Authorization: Bearer with the run's token (GC_WORKER_TOKEN) is missing", worker.ErrUnauthorized)
	}
	return s.city.Authenticate(token)
}

// may checks whether the caller who may use this route for the run id. It returns nil if so,
// otherwise the error for the caller.
func (row route) may(who session.RunCaller, id string) error {
	switch {
	case id == "" && row.all && who.Owner:
		return nil
	case id == "":
		return fmt.Errorf("%w: run_id is missing", worker.ErrInvalid)
	case row.who == workers && who.CanReportFor(id), row.who == directors && who.CanDirect(id):
		return nil
	case row.who == workers && who.Owner:
		return fmt.Errorf("%w: only the worker of the run may do this", worker.ErrForbidden)
	}
	return fmt.Errorf("%w: the token is that of another run", worker.ErrForbidden)
}
