package workerapi

import "github.com/danielgtaylor/huma/v2"

// Described returns the description and its schemas.
func Described() (*huma.OpenAPI, huma.Registry) {
	doc := describe()
	return doc, doc.Components.Schemas
}
