package k8s

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"gascity/internal/driver"
	"gascity/internal/driver/remote"
	"gascity/runtime"
)

// Provider runs agents in pods. It is safe for concurrent use.
type Provider struct {
	driver.Forwarder

	cfg        Config
	cluster    *cluster
	view       *view
	ctx        context.Context //nolint:containedctx // lifetime of the provider, for its watch and for methods without a ctx
	cancel     context.CancelFunc
	work       sync.WaitGroup
	begin      func()
	openClient func(session string, pod *corev1.Pod) podClient // returns a client for the pod
	events     driver.Broadcaster

	mu        sync.Mutex
	conns     map[string]*podConn     // connections by session name
	starts    map[string]struct{}     // sessions with a running start in this process
	disrupted map[string]string       // reason why a session's last pod stopped, by session name
	unstarted map[string]unstartedPod // pods without a session and without a start in this process, by session name
	watching  bool                    // Watch was called
	closed    bool
}

var (
	_ runtime.Provider = (*Provider)(nil)
	_ runtime.Router   = (*Provider)(nil)
	_ runtime.Observer = (*Provider)(nil)
	_ runtime.Watcher  = (*Provider)(nil)
	_ runtime.Fencer   = (*Provider)(nil)
)

// Open returns the driver. It sends the first request to the cluster when an operation needs one.
func Open(cfg Config) (*Provider, error) {
	if cfg.ID == "" || strings.Trim(cfg.ID, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" || len(cfg.ID) > labelLimit {
		return nil, fmt.Errorf("the city's name in the cluster, %q, must consist of letters and digits", cfg.ID)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Limits = cfg.Limits.withDefaults()
	p := &Provider{cfg: cfg, cluster: &cluster{settings: cfg.Settings}, conns: map[string]*podConn{}, starts: map[string]struct{}{}, disrupted: map[string]string{}, unstarted: map[string]unstartedPod{}}
	p.Call = p.callPod
	p.ctx, p.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // Close cancels it
	p.view = newView(p.cluster, cfg.ID, p.changed)
	p.openClient = func(name string, pod *corev1.Pod) podClient { return remote.Open(p.options(name, pod)) }
	p.begin = sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.closed {
			p.work.Go(func() { p.view.run(p.ctx) })
		}
	})
	return p, nil
}

// Close closes the watch and all connections. The sessions continue to run.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	conns := p.conns
	p.conns = map[string]*podConn{}
	p.mu.Unlock()
	p.cancel()
	for _, w := range conns {
		w.close()
	}
	p.work.Wait()
	p.events.Wait()
	return nil
}

// waitSynced starts the watch if necessary and waits until the list of pods is known.
func (p *Provider) waitSynced(ctx context.Context) error {
	p.begin()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return p.view.ready(ctx)
}

// changed handles a change of the view. A nil pod means that all pods must be read again.
func (p *Provider) changed(pod *corev1.Pod, gone bool) {
	if pod == nil {
		p.events.Publish(runtime.Event{Kind: runtime.EventResync, Time: time.Now()})
		p.followAll()
		return
	}
	name := rawName(pod)
	if why := reasonOf(pod); why != "" {
		p.mu.Lock()
		p.disrupted[name] = why
		p.mu.Unlock()
	}
	switch {
	case gone:
		p.closeConn(name, pod.UID)
		p.events.Publish(runtime.Event{Kind: runtime.EventGone, Session: name, Time: time.Now()})
	case Judge(pod, nil).Phase == Ended:
		p.events.Publish(runtime.Event{Kind: runtime.EventExited, Session: name, Exit: exitOf(pod), Time: time.Now()})
	default:
		p.follow(name, pod)
	}
}

// Capabilities reports that the driver has all capabilities.
func (p *Provider) Capabilities() runtime.ProviderCapabilities { return capabilities }

var capabilities = runtime.ProviderCapabilities{CanReportAttachment: true, CanReportActivity: true, CanStream: true, CanAttachTTY: true}

// defaultQueryTimeout is the limit for methods without a ctx.
const defaultQueryTimeout = 15 * time.Second

// at returns the connection to a session whose pod runs. Otherwise it returns an error with the
// state of the pod.
func (p *Provider) at(op, name string) (*podConn, error) {
	ctx, cancel := context.WithTimeout(p.ctx, defaultQueryTimeout)
	defer cancel()
	return p.atContext(ctx, op, name)
}

// atContext returns the connection to the pod of a session. If the session has no usable pod, the error says why; it
// matches [runtime.ErrSessionNotFound] if the session does not run.
func (p *Provider) atContext(ctx context.Context, op, name string) (*podConn, error) {
	fail := func(err error) (*podConn, error) { return nil, &runtime.Error{Op: op, Session: name, Err: err} }
	if runtime.ValidateName(name) != nil {
		return fail(runtime.ErrSessionNotFound)
	}
	if err := p.waitSynced(ctx); err != nil {
		return fail(err)
	}
	pod, err := p.view.pod(name)
	if err != nil {
		return fail(err)
	}
	if pod == nil {
		return fail(runtime.ErrSessionNotFound)
	}
	switch c := Judge(pod, nil); c.Phase {
	case Running:
		return p.connTo(name, pod), nil
	case Ended, Leaving:
		return fail(fmt.Errorf("%w: %w", runtime.ErrSessionNotFound, c.Err))
	default:
		if p.abandoned(name, pod) {
			return fail(fmt.Errorf("%w: its start was interrupted", runtime.ErrSessionNotFound))
		}
		return fail(errors.Join(fmt.Errorf("%w: its pod is %s", runtime.ErrSessionInitializing, c.Phase), c.Err))
	}
}

// Route implements runtime.Router. It returns the client of the outpost in the session's pod, which
// has the extensions.
func (p *Provider) Route(session string) runtime.Provider {
	w, err := p.at("find", session)
	if err != nil {
		return absent{p, err}
	}
	return w.client
}

// Observe implements runtime.Observer. It sends no request to the cluster, except to connect to a
// pod that has no connection yet.
func (p *Provider) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	obs := runtime.Observation{Attached: -1, At: time.Now()}
	dead := func() (runtime.Observation, error) {
		obs.Session, obs.Agent, obs.Attached = runtime.Dead, runtime.Dead, 0
		return obs, nil
	}
	if runtime.ValidateName(name) != nil {
		return dead()
	}
	err := p.waitSynced(ctx)
	var pod *corev1.Pod
	if err == nil {
		pod, err = p.view.pod(name)
	}
	if err != nil {
		return obs, &runtime.Error{Op: "observe", Session: name, Err: unknown(err)}
	}
	if pod == nil {
		p.mu.Lock()
		obs.Cause = p.disrupted[name]
		p.mu.Unlock()
		return dead()
	}
	obs.StartedAt = pod.CreationTimestamp.Time
	c := Judge(pod, nil)
	if c.Phase == Running {
		return p.observeIn(ctx, name, pod)
	}
	obs.Session, obs.InstanceToken = runtime.Alive, p.lastInstance(name, pod.UID)
	switch {
	case c.Phase == Ended:
		obs.Agent, obs.Exit, obs.Attached = runtime.Dead, c.Exit, 0
	case c.Phase != Leaving && p.abandoned(name, pod): // else the session is starting, or the pod is being deleted
		obs.Agent, obs.Attached = runtime.Dead, 0
	}
	return obs, nil
}

// observeIn observes the session through the outpost of a running pod. The pod keeps the session
// alive, even if the outpost has no session: its start is in progress, or was interrupted.
func (p *Provider) observeIn(ctx context.Context, name string, pod *corev1.Pod) (runtime.Observation, error) {
	w := p.connTo(name, pod)
	obs, err := w.client.Observe(ctx, name)
	if err != nil {
		return obs, err
	}
	p.recordInstance(w, obs.InstanceToken)
	if obs.Session == runtime.Dead {
		obs.Session, obs.Agent = runtime.Alive, runtime.Unknown
		if p.abandoned(name, pod) {
			obs.Agent = runtime.Dead
		}
		return obs, nil
	}
	p.mu.Lock()
	delete(p.unstarted, name)
	p.mu.Unlock()
	return obs, nil
}

// unstartedPod is a pod without a session. since is when it was first observed without a start.
type unstartedPod struct {
	uid   types.UID
	since time.Time
}

// orphanedAfter is how long a pod may exist without its session while no start runs in this
// process. After that the start counts as abandoned: the process that began it has exited. An
// outpost undoes a start itself when it loses its connection.
const orphanedAfter = 30 * time.Second

// abandoned reports whether no process continues the start of a pod's session: this was so for
// orphanedAfter, or the pod is older than the longest start.
func (p *Provider) abandoned(name string, pod *corev1.Pod) bool {
	l := p.cfg.Limits
	if time.Since(pod.CreationTimestamp.Time) > l.Schedule+l.Pull+2*l.Prepare {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	seen, known := p.unstarted[name]
	if known = known && seen.uid == pod.UID; known {
		return time.Since(seen.since) > orphanedAfter
	}
	if _, busy := p.starts[name]; !busy { // with a running start, the pod may belong to that start
		p.unstarted[name] = unstartedPod{pod.UID, time.Now()}
	}
	return false
}

// Watch implements runtime.Watcher.
func (p *Provider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	p.begin()
	p.mu.Lock()
	p.watching = true
	p.mu.Unlock()
	events := p.events.Subscribe(ctx, p.ctx)
	if err := p.waitSynced(ctx); err == nil {
		p.followAll()
	}
	return events, nil
}

// followAll follows the events of all running pods.
func (p *Provider) followAll() {
	pods, err := p.view.all()
	if err != nil {
		return
	}
	for name, pod := range pods {
		p.follow(name, pod)
	}
}

// follow forwards the events of a running pod to the watchers. It does nothing if there is no
// watcher.
func (p *Provider) follow(name string, pod *corev1.Pod) {
	p.mu.Lock()
	wanted := p.watching && !p.closed
	p.mu.Unlock()
	if !wanted || Judge(pod, nil).Phase != Running {
		return
	}
	w := p.connTo(name, pod)
	w.follow.Do(func() {
		p.work.Go(func() {
			events, err := w.client.Watch(p.ctx)
			if err != nil {
				return
			}
			for e := range events {
				p.events.Publish(e)
			}
		})
	})
}
