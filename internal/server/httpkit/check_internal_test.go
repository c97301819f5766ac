package httpkit

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestRefusalOfAnotherUser checks that the refusal of another user names its process if that is known. It is not known for a TCP
// connection.
func TestRefusalOfAnotherUser(t *testing.T) {
	forbidden := errors.New("forbidden")
	a := New(API{Forbidden: forbidden, Service: "city"})
	for want, who := range map[string]Peer{
		"forbidden: user 54321 (process 7) is not this city's owner": {UID: 54321, PID: 7},
		"forbidden: user 54321 is not this city's owner":             {UID: 54321},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r = r.WithContext(context.WithValue(r.Context(), peerKey{}, who))
		if err := a.FromOwnerIfKnown(r); !errors.Is(err, forbidden) || err.Error() != want {
			t.Errorf("%+v was refused with %v, want %s", who, err, want)
		}
	}
}
