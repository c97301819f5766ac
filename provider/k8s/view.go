package k8s

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity/runtime"
)

// view is what is known of the city's pods: one list and one watch for all of them.
type view struct {
	cluster *cluster
	city    string
	changed func(pod *corev1.Pod, gone bool) // called for each change, without the lock; nil pod: look at all

	mu        sync.Mutex
	pods      map[string]*corev1.Pod // by the session's name
	err       error                  // why nothing is known; nil while the watch stands
	changedCh chan struct{}          // closed at each change, and replaced
	version   string                 // the version up to which list and watch have reported everything
}

func newView(c *cluster, city string, changed func(*corev1.Pod, bool)) *view {
	return &view{cluster: c, city: city, changed: changed, err: errNoView, changedCh: make(chan struct{}), pods: map[string]*corev1.Pod{}}
}

var errNoView = fmt.Errorf("%w: the cluster was not asked yet", runtime.ErrRuntimeUnavailable)

// pod returns the session's pod, nil if it certainly has none.
func (v *view) pod(session string) (*corev1.Pod, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.pods[session], v.err
}

func (v *view) all() (map[string]*corev1.Pod, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.pods), v.err
}

// next returns a channel that is closed at the next change.
func (v *view) next() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changedCh
}

// wait waits until ask is content with what is known.
func (v *view) wait(ctx context.Context, ask func() bool) error {
	for {
		next := v.next()
		if ask() {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ready waits until it is known what there is, or why not.
func (v *view) ready(ctx context.Context) error {
	err := errNoView
	waited := v.wait(ctx, func() bool {
		_, err = v.pod("")
		return !errors.Is(err, errNoView)
	})
	return errors.Join(err, waited)
}

// applyResponse takes what an answer of the API server said before the watch reports it. What
// the watch has reported already may be over by now.
func (v *view) applyResponse(pod *corev1.Pod) {
	v.mu.Lock()
	known := !newer(pod.ResourceVersion, v.version)
	v.mu.Unlock()
	if !known {
		v.put(pod, false)
	}
}

// reached records how far the watch is.
func (v *view) reached(version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if newer(version, v.version) {
		v.version = version
	}
}

func (v *view) put(pod *corev1.Pod, gone bool) {
	name := rawName(pod)
	if name == "" || pod.Name != podName(v.city, name) {
		return // somebody else's, with our labels
	}
	v.mu.Lock()
	had := v.pods[name]
	switch {
	case gone && had != nil && had.UID == pod.UID:
		delete(v.pods, name)
	case !gone && (had == nil || had.UID != pod.UID && !had.CreationTimestamp.After(pod.CreationTimestamp.Time) || had.UID == pod.UID && !newer(had.ResourceVersion, pod.ResourceVersion)):
		v.pods[name] = pod
	}
	v.moveLocked()
	v.mu.Unlock()
	v.changed(pod, gone)
}

// newer compares two versions, which are numbers that only grow.
func newer(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}

func (v *view) moveLocked() {
	close(v.changedCh)
	v.changedCh = make(chan struct{})
}

// invalidate records that nothing is known any more.
func (v *view) invalidate(err error) {
	v.mu.Lock()
	first := v.err == nil || errors.Is(v.err, errNoView)
	v.err = err
	v.moveLocked()
	v.mu.Unlock()
	if first {
		v.changed(nil, false)
	}
}

// run keeps the view until ctx ends. After a failure it asks again with growing pauses, which
// begin again only after a watch that has stood for a while.
func (v *view) run(ctx context.Context) {
	pause := pauses(100*time.Millisecond, longestPause)
	for ctx.Err() == nil {
		version, err := v.fill(ctx)
		for err == nil {
			began := time.Now()
			version, err = v.follow(ctx, version)
			if time.Since(began) > longestPause {
				pause.Reset()
			}
		}
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, errTooOld) {
			v.invalidate(err)
		}
		_ = waitOut(ctx, pause, err) // its error is that ctx has ended
	}
}

const longestPause = 15 * time.Second

// fill lists all pods, and forgets those that are not there any more. A list that is older
// than what was reported before is not believed: what began since is not in it.
func (v *view) fill(ctx context.Context) (version string, err error) {
	list, err := v.cluster.list(ctx, v.city)
	if err != nil {
		return "", unknown(err)
	}
	pods := map[string]*corev1.Pod{}
	for i := range list.Items {
		pod := &list.Items[i]
		if name := rawName(pod); name != "" && pod.Name == podName(v.city, name) {
			pods[name] = pod
		}
	}
	gone, err := v.replace(pods, list.ResourceVersion)
	if err != nil {
		return "", err
	}
	for _, pod := range gone {
		v.changed(pod, true)
	}
	v.changed(nil, false)
	return list.ResourceVersion, nil
}

// replace makes pods what is known, as of version, and returns those that are gone.
func (v *view) replace(pods map[string]*corev1.Pod, version string) ([]*corev1.Pod, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var gone []*corev1.Pod
	seen := v.version
	for name, had := range v.pods {
		if newer(had.ResourceVersion, seen) {
			seen = had.ResourceVersion
		}
		if now := pods[name]; now == nil || now.UID != had.UID {
			gone = append(gone, had)
		}
	}
	if newer(seen, version) {
		return nil, fmt.Errorf("%w: the API server lists what was at version %s, and has reported %s before (it lags behind, and is asked again; "+
			"if its store was restored from a backup, start the controller again)", runtime.ErrRuntimeUnavailable, version, seen)
	}
	v.pods, v.err, v.version = pods, nil, version
	v.moveLocked()
	return gone, nil
}

// unknown makes an error say that nothing could be observed.
func unknown(err error) error {
	if err == nil || errors.Is(err, runtime.ErrRuntimeUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", runtime.ErrRuntimeUnavailable, err)
}

// follow reads one watch to its end. A good end is no error: the next one goes on there.
func (v *view) follow(ctx context.Context, version string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, watchFor+requestTimeout, errSilent)
	defer cancel()
	response, err := v.cluster.watch(ctx, v.city, version)
	if err != nil {
		if errors.Is(err, errTooOld) {
			return version, err
		}
		return version, unknown(err)
	}
	defer response.Body.Close()
	began := time.Now()
	for in := json.NewDecoder(response.Body); ; {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := in.Decode(&event); err != nil {
			if time.Since(began) > watchFor-time.Second {
				return version, nil // its time is over
			}
			return version, fmt.Errorf("%w: the watch was lost, and is begun again: %w", runtime.ErrRuntimeUnavailable, err)
		}
		if event.Type == "ERROR" {
			var status metav1.Status
			_ = json.Unmarshal(event.Object, &status) // whatever it is, everything is listed again
			return version, fmt.Errorf("%w: %s", errTooOld, status.Message)
		}
		var pod corev1.Pod
		if err := json.Unmarshal(event.Object, &pod); err != nil {
			return version, fmt.Errorf("%w: the watch cannot be read: %w", runtime.ErrRuntimeUnavailable, err)
		}
		version = pod.ResourceVersion
		if event.Type != "BOOKMARK" {
			v.put(&pod, event.Type == "DELETED")
		}
		v.reached(version)
	}
}
