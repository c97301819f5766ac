package k8s

import (
	"context"
	"errors"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity/internal/leaderelection"
)

// leases is the resource name of leases, which are not in the core API group.
const leases = "leases"

// Leases returns the store of the lease with the given name, in the namespace of the settings.
func Leases(s Settings, name string) leaderelection.Store {
	return &leaseStore{&cluster{settings: s}, name}
}

type leaseStore struct {
	cluster *cluster
	name    string
}

// leaseObject is a Lease of coordination.k8s.io/v1. The type of the library is not used, because it
// would link its whole API group.
type leaseObject struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            leaseSpec         `json:"spec"`
}

type leaseSpec struct {
	Holder      string            `json:"holderIdentity"`
	Seconds     int               `json:"leaseDurationSeconds,omitempty"`
	Acquired    *metav1.MicroTime `json:"acquireTime,omitempty"`
	Renewed     *metav1.MicroTime `json:"renewTime,omitempty"`
	Transitions int               `json:"leaseTransitions"`
}

// leaseLimit is the limit for one request. It is short, because a holder must renew the lease in
// time.
const leaseLimit = 3 * time.Second

// Get implements leaderelection.Store.
func (s *leaseStore) Get(ctx context.Context) (leaderelection.Record, error) {
	r, err := s.request(ctx, apiRequest{http.MethodGet, nil, nil, []string{leases, s.name}})
	if errors.Is(err, errNotThere) {
		return leaderelection.Record{}, nil
	}
	return r, err
}

// Put implements leaderelection.Store.
func (s *leaseStore) Put(ctx context.Context, r leaderelection.Record) (leaderelection.Record, error) {
	object := leaseObject{
		metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		metav1.ObjectMeta{Name: s.name, ResourceVersion: r.Version},
		leaseSpec{r.Holder, int(r.Duration.Seconds()), microTime(r.Acquired), microTime(r.Renewed), r.Changes},
	}
	a := apiRequest{http.MethodPut, object, nil, []string{leases, s.name}}
	if r.Version == "" {
		a = apiRequest{http.MethodPost, object, nil, []string{leases}}
	}
	out, err := s.request(ctx, a)
	if errors.Is(err, errConflict) || errors.Is(err, errTaken) || errors.Is(err, errNotThere) {
		return leaderelection.Record{}, errors.Join(leaderelection.ErrConflict, err)
	}
	return out, err
}

// request sends a request about the Lease and returns the record in the answer.
func (s *leaseStore) request(ctx context.Context, a apiRequest) (leaderelection.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseLimit)
	defer cancel()
	object, err := callAPI[leaseObject](ctx, s.cluster, a)
	if err != nil {
		return leaderelection.Record{}, err
	}
	spec := &object.Spec
	return leaderelection.Record{
		Holder: spec.Holder, Duration: time.Duration(spec.Seconds) * time.Second, Acquired: plainTime(spec.Acquired), Renewed: plainTime(spec.Renewed),
		Changes: spec.Transitions, Version: object.Metadata.ResourceVersion,
	}, nil
}

// microTime converts a time for Kubernetes; nil for the zero time.
func microTime(t time.Time) *metav1.MicroTime {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewMicroTime(t))
}

func plainTime(m *metav1.MicroTime) time.Time {
	if m == nil {
		return time.Time{}
	}
	return m.Time
}
