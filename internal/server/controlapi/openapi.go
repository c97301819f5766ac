package controlapi

import (
	"encoding/json"
	"io"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"gascity/client"
	"gascity/internal/httpwire"
	"gascity/internal/redact"
	"gascity/internal/server/httpkit"
)

// apiVersion is the version of the API, not of the program. It changes with the prefix of the
// paths.
const apiVersion = "1"

const description = `The control API of one city, served on the Unix socket <city>/.runtime/control.sock
(over 100 bytes: /tmp/gc-<uid>/<12 hexadecimal digits of sha256 of the city directory>/control.sock).
Errors are RFC 9457 problem documents with a stable code. A request that changes something must carry
the header Gc-Version. Requests with an Origin header or with a host other than "city" or "localhost"
are refused.`

// masked returns the format in which all answers are encoded: JSON in which secrets are masked.
func masked(secrets *redact.Redactor) huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			text, err := secrets.Encode(v)
			if err != nil {
				return err
			}
			_, err = w.Write(append(text, '\n'))
			return err
		},
		Unmarshal: unmarshalExactly,
	}
}

// unmarshalExactly decodes a JSON body. It refuses strings that are not valid Unicode, which
// encoding/json would change without an error, so that a prompt is never altered.
func unmarshalExactly(text []byte, into any) error {
	if err := httpkit.CheckUnicode(text); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// describe returns the configuration of huma, the library that handles the routes and writes the
// API description.
func describe(secrets *redact.Redactor) huma.Config {
	format := masked(secrets)
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    &huma.Info{Title: "Gas City control API", Version: apiVersion, Description: description},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
			},
		},
		OpenAPIPath:   "/openapi",
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{translate},
	}
}

// problems returns the description of the errors of every route.
func problems(api huma.API) map[string]*huma.Response {
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[client.Problem](), true, "Problem")
	return map[string]*huma.Response{"default": {
		Description: "A problem, see its code",
		Content:     map[string]*huma.MediaType{httpwire.ProblemType: {Schema: schema}},
	}}
}

// removeHumaErrors removes huma's own error types from the description. They are never sent, see
// translate.
func removeHumaErrors(api huma.API) {
	schemas := api.OpenAPI().Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
}
