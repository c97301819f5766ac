package k8s

import (
	"fmt"
	goruntime "runtime"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"gascity/runtime"
)

// populate adds running pods to the cluster.
func (r *clusterTest) populate(count int) (names []string) {
	r.Helper()
	for i := range count {
		name := fmt.Sprintf("worker-%03d", i)
		pod, err := manifest(podSpec{city: "city", session: name, place: "p", try: "t", settings: Settings{Image: "i"}, cfg: r.agent()})
		if err != nil {
			r.Fatal(err)
		}
		pod.UID, pod.Spec.NodeName = types.UID("uid-"+strconv.Itoa(i)), "n1"
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{Name: containerAgent, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		}}
		r.api.mu.Lock()
		r.api.putLocked("ADDED", pod)
		r.api.mu.Unlock()
		if err := r.inside(pod.UID).Start(r.Context(), name, r.agent()); err != nil {
			r.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// sweep observes every session, as a patrol does.
func (r *clusterTest) sweep(names []string) {
	r.Helper()
	if found, err := r.ListRunning(""); err != nil || len(found) != len(names) {
		r.Fatalf("%d sessions are listed, %v; want %d", len(found), err, len(names))
	}
	for _, name := range names {
		if o, err := r.Observe(r.Context(), name); err != nil || o.Agent != runtime.Alive {
			r.Fatalf("%s is %s, %v", name, o.Agent, err)
		}
	}
}

// 500 idle pods need one list, and one watch every five minutes, for any number of observations and event
// readers.
func TestIdleCityMakesNoRequests(t *testing.T) {
	inBubble(t, func(r *clusterTest) {
		names := r.populate(500)
		if _, err := r.Watch(r.Context()); err != nil {
			r.Fatal(err)
		}
		for range 20 { // 30 s is the patrol
			r.sweep(names)
			<-time.After(30 * time.Second)
		}
		if all, lists, watches := len(r.api.count("")), len(r.api.count("list")), len(r.api.count("watch")); lists != 1 || watches > 3 || all != lists+watches {
			r.Errorf("%d requests in 10 minutes, of them %d lists and %d watches; want 1 and at most 3", all, lists, watches)
		}
	})
}

// An observation of 500 pods: time and memory. The simulated cluster has the same pods in memory, too.
func BenchmarkObserve500(b *testing.B) {
	r, end := newRig(b, b.TempDir())
	defer end()
	names := r.populate(500)
	before := heap()
	if err := r.waitSynced(b.Context()); err != nil {
		b.Fatal(err)
	}
	kept := heap() - before
	for b.Loop() {
		r.sweep(names)
	}
	b.ReportMetric(float64(kept)/500, "B/pod")
}

func heap() int64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // of one process
}
