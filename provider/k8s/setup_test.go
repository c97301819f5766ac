package k8s

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// clusterTest is a city in a simulated cluster, in virtual time.
type clusterTest struct {
	testing.TB
	*Provider // the controller's

	api    *apiServer
	pipes  pipes
	config *rest.Config
	dir    string
	podClients
}

// podClients are the simulated connections to pods, one for each pod that was created.
type podClients struct {
	mu    sync.Mutex
	fakes map[types.UID]*fake.Provider
}

// inBubble runs a test with a simulated cluster in virtual time.
func inBubble(t *testing.T, test func(*clusterTest)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r, end := newRig(t, dir)
		defer end()
		test(r)
	})
}

func newRig(t testing.TB, dir string) (*clusterTest, func()) {
	t.Helper()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("good"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &clusterTest{TB: t, api: newAPIServer(t), pipes: newPipes(), dir: dir}
	r.fakes = map[types.UID]*fake.Provider{}
	server := &http.Server{Handler: r.api}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(r.pipes); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	r.config = &rest.Config{Host: "http://api", Dial: r.pipes.dial, BearerTokenFile: token, QPS: -1}
	p, end := r.open()
	r.Provider = p
	return r, func() {
		end()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	}
}

// open returns another provider of the same city.
func (r *clusterTest) open() (*Provider, func()) {
	r.Helper()
	p, err := Open(Config{ID: "city", Place: "p", Settings: Settings{Image: "i", Prebaked: true}})
	if err != nil {
		r.Fatal(err)
	}
	client, err := rest.HTTPClientFor(r.config)
	if err != nil {
		r.Fatal(err)
	}
	p.cluster.api = &apiConfig{r.config, client, "gc"}
	p.openClient = func(_ string, pod *corev1.Pod) podClient { return fakePodClient{r.inside(pod.UID), r.api, pod.UID} }
	return p, func() {
		if err := p.Close(); err != nil {
			r.Error(err)
		}
		client.CloseIdleConnections()
	}
}

func (i *podClients) inside(uid types.UID) *fake.Provider {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fakes[uid] == nil {
		i.fakes[uid] = fake.New()
	}
	return i.fakes[uid]
}

// started counts the agents that were started, in any pod.
func (i *podClients) started() (count int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, f := range i.fakes {
		count += len(f.Calls("Start"))
	}
	return count
}

// fakePodClient is the connection to a pod. It works as long as the pod exists.
type fakePodClient struct {
	*fake.Provider

	api *apiServer
	uid types.UID
}

func (i fakePodClient) Connect(context.Context) error {
	if i.api.has(i.uid) {
		return nil
	}
	return fmt.Errorf("%w: no such pod", runtime.ErrRuntimeUnavailable)
}

func (i fakePodClient) Close() error { return nil }

func (i fakePodClient) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	if err := i.Connect(ctx); err != nil {
		return runtime.Observation{}, err
	}
	return i.Provider.Observe(ctx, name)
}

// pipes is a simulated network. A client may dial after its end, because clients dial in advance.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

func newPipes() pipes { return pipes{make(chan net.Conn), make(chan struct{})} }

func (p pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.ended:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

// Close is called once, by the server.
func (p pipes) Close() error {
	close(p.ended)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (r *clusterTest) agent() runtime.Config { return runtime.Config{Command: "agent", WorkDir: r.dir} }

// begin starts a session, which must succeed.
func (r *clusterTest) begin(name string) {
	r.Helper()
	if err := r.Start(r.Context(), name, r.agent()); err != nil {
		r.Fatalf("Start(%s): %v", name, err)
	}
}

// wantObservation checks the observation of a session.
func (r *clusterTest) wantObservation(name string, session, agent runtime.Liveness) {
	r.Helper()
	o, err := r.Observe(r.Context(), name)
	if o.Session != session || o.Agent != agent || (session == runtime.Unknown) != errors.Is(err, runtime.ErrRuntimeUnavailable) {
		r.Errorf("%s is seen as %s, agent %s, %v; want %s, %s", name, o.Session, o.Agent, err, session, agent)
	}
}

// wantUnknown checks that the state of a session is unknown, and returns the reason.
func (r *clusterTest) wantUnknown(name string) error {
	r.Helper()
	r.wantObservation(name, runtime.Unknown, runtime.Unknown)
	_, err := r.Observe(r.Context(), name)
	return err
}
