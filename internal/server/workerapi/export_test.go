package workerapi

import (
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Stall sets how long one write may wait for the reader.
func (s *Server) Stall(d time.Duration) { s.stall = d }

// Described returns the description and its schemas.
func Described() (*huma.OpenAPI, huma.Registry) {
	doc := describe()
	return doc, doc.Components.Schemas
}

// Parse reads a body.
func Parse(text []byte, into any) error { return parse(text, into) }
