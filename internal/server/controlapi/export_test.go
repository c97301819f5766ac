package controlapi

import "github.com/danielgtaylor/huma/v2"

// Route is one row of the table, for tests from outside.
type Route struct{ ID, Method, Path string }

// Routes returns the table.
func Routes() []Route {
	var out []Route
	for _, r := range routes() {
		out = append(out, Route{r.id, r.method, r.path})
	}
	return out
}

// OpenAPI returns the description of the routes.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.huma.OpenAPI() }
