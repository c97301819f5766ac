package k8s

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"gascity/runtime"
)

// TestMeaningOfARefusal checks how responses are classified, and that those of a proxy are not.
func TestMeaningOfARefusal(t *testing.T) {
	const status = `{"kind":"Status","status":"Failure",`
	for name, c := range map[string]struct {
		code   int
		body   string
		kind   error
		remedy string
	}{
		"no pod":           {404, status + `"reason":"NotFound","details":{"kind":"pods"}}`, errNotThere, ""},
		"no namespace":     {404, status + `"reason":"NotFound","details":{"kind":"namespaces"}}`, ErrNoNamespace, "kubectl create namespace"},
		"proxy's 404":      {404, "404 page not found", runtime.ErrRuntimeUnavailable, "/readyz"},
		"proxy's 409":      {409, "conflict", runtime.ErrRuntimeUnavailable, ""},
		"proxy's 410":      {410, "", runtime.ErrRuntimeUnavailable, ""},
		"taken":            {409, status + `"reason":"AlreadyExists"}`, errTaken, ""},
		"another one":      {409, status + `"reason":"Conflict"}`, errConflict, ""},
		"too old":          {410, status + `"reason":"Expired"}`, errTooOld, ""},
		"token":            {401, status + `"message":"Unauthorized"}`, ErrLogin, "kubectl auth whoami"},
		"not allowed":      {403, status + `"message":"pods is forbidden: User x cannot create"}`, ErrForbidden, "kubectl auth can-i"},
		"quota":            {403, status + `"message":"pods a is forbidden: exceeded quota: q"}`, ErrQuota, "kubectl describe quota"},
		"standard":         {403, status + `"message":"pods a is forbidden: violates PodSecurity \"restricted\""}`, ErrNotAdmitted, ""},
		"webhook":          {400, status + `"message":"admission webhook w denied the request"}`, ErrNotAdmitted, ""},
		"webhook's teapot": {418, status + `"message":"admission webhook w denied the request"}`, ErrNotAdmitted, ""},
		"policy":           {422, status + `"message":"ValidatingAdmissionPolicy p denied"}`, ErrNotAdmitted, ""},
		"faulty":           {422, status + `"message":"spec.x: invalid"}`, ErrInvalidPod, ""},
		"busy":             {429, "", runtime.ErrRuntimeUnavailable, "too many requests"},
		"broken":           {500, status + `"message":"etcdserver: request timed out"}`, runtime.ErrRuntimeUnavailable, "/readyz"},
	} {
		err := refusal(&http.Response{StatusCode: c.code, Status: http.StatusText(c.code), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.body))})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.remedy) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.kind, c.remedy)
		}
	}
}
