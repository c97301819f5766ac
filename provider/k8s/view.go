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

	"gascity/internal/retry"
	"gascity/runtime"
)

// view is the known state of the city's pods, from one list and one watch for all of them.
type view struct {
	cluster *cluster
	city    string
	changed func(pod *corev1.Pod, gone bool) // called for each change, without the lock; a nil pod means that all pods must be read again

	mu        sync.Mutex
	pods      map[string]*corev1.Pod // by the session's name
	err       error                  // why the state is unknown; nil while the watch works
	changedCh chan struct{}          // closed at each change, and replaced
	version   string                 // the version up to which list and watch have reported everything
}

func newView(c *cluster, city string, changed func(*corev1.Pod, bool)) *view {
	return &view{cluster: c, city: city, changed: changed, err: errNoView, changedCh: make(chan struct{}), pods: map[string]*corev1.Pod{}}
}

var errNoView = fmt.Errorf("%w: the pods have not been listed yet", runtime.ErrRuntimeUnavailable)

// pod returns the session's pod, or nil if it has none. The error is why that is unknown.
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

// wait waits until condition returns true. It calls condition after each change.
func (v *view) wait(ctx context.Context, condition func() bool) error {
	for {
		next := v.next()
		if condition() {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ready waits until the pods are listed, and returns the error if that failed.
func (v *view) ready(ctx context.Context) error {
	err := errNoView
	waited := v.wait(ctx, func() bool {
		_, err = v.pod("")
		return !errors.Is(err, errNoView)
	})
	return errors.Join(err, waited)
}

// applyResponse stores a pod from a response of the API server, before the watch reports it. It
// ignores a version that the watch has already passed.
func (v *view) applyResponse(pod *corev1.Pod) {
	v.mu.Lock()
	known := !newer(pod.ResourceVersion, v.version)
	v.mu.Unlock()
	if !known {
		v.put(pod, false)
	}
}

// reached records the version that the watch has reported.
func (v *view) reached(version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if newer(version, v.version) {
		v.version = version
	}
}

// put records a pod that the cluster reported: gone means that it was deleted. An older report, or one about a pod that
// a newer pod has replaced, changes nothing.
func (v *view) put(pod *corev1.Pod, gone bool) {
	name := rawName(pod)
	if name == "" || pod.Name != podName(v.city, name) {
		return // the pod has the labels, but was not created by the driver
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

// newer reports whether version a is greater than b. Both are decimal numbers.
func newer(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}

// moveLocked wakes all goroutines that wait for a change of the view.
func (v *view) moveLocked() {
	close(v.changedCh)
	v.changedCh = make(chan struct{})
}

// invalidate records that the state is unknown because of err.
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

// run updates the view until ctx ends. After a failure it tries again with growing pauses. The
// pauses start again from the shortest after a watch that lasted longer than longestPause.
func (v *view) run(ctx context.Context) {
	delay := retry.New(100*time.Millisecond, longestPause)
	for ctx.Err() == nil {
		version, err := v.fill(ctx)
		for err == nil {
			began := time.Now()
			version, err = v.follow(ctx, version)
			if time.Since(began) > longestPause {
				delay.Reset()
			}
		}
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, errTooOld) {
			v.invalidate(err)
		}
		_ = waitBeforeRetry(ctx, delay, err) // it returns an error only if ctx has ended
	}
}

const longestPause = 15 * time.Second

// fill lists all pods and removes those that do not exist any more. It refuses a list that is older
// than a reported version, because newer pods are missing in it.
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

// replace stores pods as the state at version, and returns the pods that do not exist any more.
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
		return nil, fmt.Errorf("%w: the API server returned the list of version %s, but reported version %s before (gc lists the pods again; "+
			"if the cluster's store was restored from a backup, restart the controller)", runtime.ErrRuntimeUnavailable, version, seen)
	}
	v.pods, v.err, v.version = pods, nil, version
	v.moveLocked()
	return gone, nil
}

// unknown returns err as an error that matches runtime.ErrRuntimeUnavailable. It returns nil for
// nil.
func unknown(err error) error {
	if err == nil || errors.Is(err, runtime.ErrRuntimeUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", runtime.ErrRuntimeUnavailable, err)
}

// follow reads one watch until it ends, and returns the last version. A regular end is not an
// error; the next watch continues from that version.
func (v *view) follow(ctx context.Context, version string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, watchFor+requestTimeout, errNoAnswer)
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
				return version, nil // the regular end of a watch
			}
			return version, fmt.Errorf("%w: the watch was lost; gc starts it again: %w", runtime.ErrRuntimeUnavailable, err)
		}
		if event.Type == "ERROR" {
			var status metav1.Status
			_ = json.Unmarshal(event.Object, &status) // after any error all pods are listed again
			return version, fmt.Errorf("%w: %s", errTooOld, status.Message)
		}
		var pod corev1.Pod
		if err := json.Unmarshal(event.Object, &pod); err != nil {
			return version, fmt.Errorf("%w: cannot decode an event of the watch: %w", runtime.ErrRuntimeUnavailable, err)
		}
		version = pod.ResourceVersion
		if event.Type != "BOOKMARK" {
			v.put(&pod, event.Type == "DELETED")
		}
		v.reached(version)
	}
}
