package k8s

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity/runtime"
)

// The error of a start whose pod cannot run has the state, the warnings of the pod and the fix. The pod is
// removed.
func TestReasonOfAFailedStart(t *testing.T) {
	on := func(status corev1.ContainerStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.ContainerStatuses = "n1", []corev1.ContainerStatus{status}
		}
	}
	failed := func(reason, message string, status ...corev1.ContainerStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status = "n1", corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason, Message: message, ContainerStatuses: status}
		}
	}
	for name, c := range map[string]struct {
		edit  func(*corev1.Pod)
		kind  error
		event string
		words []string
	}{
		"pull":  {on(waits("ImagePullBackOff", "Back-off pulling")), ErrImagePull, "Failed: pull access denied for img", []string{"imagePullSecrets", "pull access denied"}},
		"never": {on(waits("ErrImageNeverPull", "no")), ErrImageNever, "ErrImageNeverPull: not present", []string{"GC_K8S_PULL_POLICY", "not present"}},
		"no node": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"}}
		}, ErrUnschedulable, "FailedScheduling: 3 Insufficient cpu", []string{"0/3 nodes", "3 Insufficient cpu", "kubectl describe nodes"}},
		"memory":  {failed("", "", ended("OOMKilled", 137)), ErrOutOfMemory, "", []string{"mem_limit"}},
		"evicted": {failed("Evicted", "low on resource: memory"), ErrEvicted, "Evicted: low on resource", []string{"low on resource: memory", "kubectl describe node"}},
		"mount":   {on(waits("ContainerCreating", "")), context.DeadlineExceeded, "FailedMount: claim files not found", []string{"claim files not found", "check the volumes"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *clusterTest) {
				r.api.stays, r.api.stuck = true, c.edit
				if reason, message, ok := strings.Cut(c.event, ": "); ok {
					r.api.held = fmt.Sprintf(`{"type":"Normal","reason":"Pulling","message":"nothing of interest"},{"type":"Warning","reason":%q,"message":%q}`, reason, message)
				}
				ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
				defer cancel()
				err := r.Start(ctx, "a", r.agent())
				r.wantError(err, c.kind, c.words...)
				if err != nil && strings.Contains(err.Error(), "of interest") || len(r.api.uids()) != 0 {
					r.Errorf("%v, and there are %v", err, r.api.uids())
				}
			})
		})
	}
}

// An agent whose pod was stopped by the cluster has that as its exit reason.
func TestReasonOfAnExit(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*corev1.Pod)
		word string
	}{
		"evicted": {func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}
		}, "low on memory"},
		"memory": {func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{ended("OOMKilled", 137)}}
		}, "mem_limit"},
		"evicted by request": {func(p *corev1.Pod) {
			p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			p.Status.Phase = corev1.PodSucceeded
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{ended("Completed", 0)}
		}, "Eviction API: evicting"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *clusterTest) {
				r.begin("a")
				before, err := r.Observe(r.Context(), "a")
				if err != nil || before.InstanceToken == "" {
					r.Fatalf("it is seen as %+v, %v", before, err)
				}
				r.api.edit(podName("city", "a"), c.edit)
				<-time.After(time.Second)
				o, err := r.Observe(r.Context(), "a")
				if err != nil || o.Session != runtime.Alive || o.Agent != runtime.Dead || o.Exit == nil || !strings.Contains(o.Exit.String(), c.word) {
					r.Errorf("it is seen as %s, agent %s, exit %v, %v; want one that says %q", o.Session, o.Agent, o.Exit, err, c.word)
				}
				if o.InstanceToken != before.InstanceToken {
					r.Error("its end is taken for that of another instance")
				}
				if !strings.HasPrefix(name, "evicted") {
					return
				}
				r.api.drop(podName("city", "a"))
				<-time.After(time.Second)
				if o, err = r.Observe(r.Context(), "a"); err != nil || o.Session != runtime.Dead || !strings.Contains(o.Cause, c.word) {
					r.Errorf("once its pod is gone it is seen as %+v, %v; want one that says %q", o, err, c.word)
				}
			})
		})
	}
}

// While a start waits, it reports the reason, also one that is only in the events of the pod, and none when the
// pod runs.
func TestStartReportsWhatItWaitsFor(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(*corev1.Pod)
		event string
		words []string
	}{
		"no node": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"}}
		}, "FailedScheduling: 3 Insufficient cpu", []string{"its pod is scheduling", "0/3 nodes", "kubectl describe nodes", "3 Insufficient cpu"}},
		"image": {func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.ContainerStatuses = "n1", []corev1.ContainerStatus{waits("ErrImagePull", "no route to the registry")}
		}, "", []string{"on node n1", "no route to the registry", "imagePullSecrets"}},
		"volume": {func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.ContainerStatuses = "n1", []corev1.ContainerStatus{waits("ContainerCreating", "")}
		}, "FailedMount: claim files not found", []string{"on node n1", "claim files not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *clusterTest) {
				r.api.stays, r.api.stuck = true, c.edit
				if reason, message, ok := strings.Cut(c.event, ": "); ok {
					r.api.held = fmt.Sprintf(`{"type":"Warning","reason":%q,"message":%q}`, reason, message)
				}
				var words atomic.Value
				ctx := runtime.WithProgress(r.Context(), func(said string) { words.Store(said) })
				var work sync.WaitGroup
				work.Go(func() {
					if err := r.Start(ctx, "a", r.agent()); err != nil {
						r.Errorf("Start = %v", err)
					}
				})
				<-time.After(10 * time.Second)
				for _, word := range c.words {
					if said, _ := words.Load().(string); !strings.Contains(said, word) {
						r.Errorf("it waits for %q; want one that says %q", said, word)
					}
				}
				r.api.edit(podName("city", "a"), func(p *corev1.Pod) {
					p.Spec.NodeName, p.Status = "n1", corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
						{Name: containerAgent, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
					}}
				})
				work.Wait()
				if said := words.Load(); said != "" {
					r.Errorf("its pod runs, and it waits for %q", said)
				}
			})
		})
	}
}
