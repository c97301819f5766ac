package k8s

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity/runtime"
)

// spaced checks the minimum interval between requests of a kind.
func (r *clusterTest) spaced(verb string, count int, apart time.Duration) {
	r.Helper()
	at := r.api.count(verb)
	if len(at) != count {
		r.Fatalf("%d times %s, want %d", len(at), verb, count)
	}
	for i := range at[1:] {
		if gap := at[i+1].Sub(at[i]); gap < apart {
			r.Errorf("%s was asked again after %v, want %v", verb, gap, apart)
		}
	}
}

// once checks that there is one pod, whose agent was started once.
func (r *clusterTest) once(name string) {
	r.Helper()
	if uids, starts := r.api.uids(), r.started(); len(uids) != 1 || starts != 1 {
		r.Errorf("there are pods %v, and agents were started %d times; want one and once", uids, starts)
	}
	r.wantObservation(name, runtime.Alive, runtime.Alive)
}

// wantError checks the kind and the text of an error.
func (r *clusterTest) wantError(err, kind error, words ...string) {
	r.Helper()
	if !errors.Is(err, kind) {
		r.Errorf("the error is %v, want %v", err, kind)
	}
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			r.Errorf("the error %v does not say %q", err, word)
		}
	}
}

// An API server that reports too many requests gets no request for the time that it sets.
func TestThrottledServerGetsNoRequests(t *testing.T) {
	inBubble(t, func(r *clusterTest) {
		busy := fault{times: 2, code: http.StatusTooManyRequests, reason: metav1.StatusReasonTooManyRequests, after: 20}
		for _, verb := range []string{"list", "create", "delete"} {
			f := busy
			f.verb = verb
			r.api.inject(f)
		}
		r.wantError(r.wantUnknown("a"), runtime.ErrRuntimeUnavailable, "too many requests")
		<-time.After(time.Minute)
		r.begin("a")
		r.once("a")
		r.spaced("list", 3, 20*time.Second)
		r.spaced("create", 3, 20*time.Second)
		if err := r.Stop("a"); err != nil || len(r.api.uids()) != 0 {
			r.Errorf("Stop = %v, and there are %v", err, r.api.uids())
		}
		r.spaced("delete", 3, 20*time.Second)
		r.wantObservation("a", runtime.Dead, runtime.Dead)
	})
}

// A request to create a pod without a usable response may have created it. In both cases the session starts once.
func TestCreateWithoutAUsableResponse(t *testing.T) {
	lost := map[string]fault{
		"500":           {code: 500},
		"503, done":     {code: 503, happens: true},
		"504, done":     {code: 504, happens: true},
		"silence":       {},
		"silence, done": {happens: true},
		"cut":           {reset: true},
		"cut, done":     {reset: true, happens: true},
		"proxy":         {code: 200, text: "{}"},
		"proxy, done":   {code: 502, text: "<html>bad gateway</html>", happens: true},
	}
	for name, f := range lost {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *clusterTest) {
				f.verb, f.times = "create", 1
				r.api.inject(f)
				again := fault{verb: "create", times: 2, code: 503}
				r.api.inject(again)
				if f.happens { // and the response of the lookup is lost, too
					again.verb = "get"
					r.api.inject(again)
				}
				r.begin("a")
				r.once("a")
			})
		})
	}
}

// A pod that was created without a response counts against the quota. The refusal of the next request because
// of that is not a failure.
func TestQuotaUsedByTheOwnPod(t *testing.T) {
	inBubble(t, func(r *clusterTest) {
		r.api.inject(fault{verb: "create", times: 1, code: 500, happens: true})
		quota := fault{verb: "create", times: 1, code: http.StatusForbidden, reason: metav1.StatusReasonForbidden, words: "exceeded quota: agents"}
		r.api.inject(quota)
		r.begin("a")
		r.once("a")
		r.api.inject(quota)
		r.wantError(r.Start(r.Context(), "b", r.agent()), ErrQuota, "kubectl describe quota")
		r.once("a")
	})
}

// A start that is canceled before it knows whether its pod was created removes the pod.
func TestStartCanceledBeforeTheResponse(t *testing.T) {
	for _, happens := range []bool{true, false} {
		inBubble(t, func(r *clusterTest) {
			r.api.inject(fault{verb: "create", times: -1, happens: happens})
			r.api.inject(fault{verb: "get", times: 2, code: 503})
			ctx, cancel := context.WithTimeout(r.Context(), 45*time.Second)
			defer cancel()
			if err := r.Start(ctx, "a", r.agent()); !errors.Is(err, context.DeadlineExceeded) {
				r.Errorf("Start = %v, want the deadline", err)
			}
			if uids := r.api.uids(); len(uids) != 0 {
				r.Errorf("it leaves %v", uids)
			}
			r.wantObservation("a", runtime.Dead, runtime.Dead)
		})
	}
}

// Two controllers start one session at the same time, and responses are lost. One agent runs.
func TestTwoStartOneSession(t *testing.T) {
	inBubble(t, func(r *clusterTest) {
		other, end := r.open()
		defer end()
		r.api.inject(fault{verb: "create", times: 2, code: 500, happens: true})
		answers := make(chan error, 2)
		for _, p := range []*Provider{r.Provider, other} {
			go func() { answers <- p.Start(r.Context(), "a", r.agent()) }()
		}
		first, second := <-answers, <-answers
		if (first == nil) == (second == nil) {
			r.Errorf("the starts end with %v and %v, want one that came up", first, second)
		}
		r.once("a")
	})
}

// A delete without a response is not repeated if the name now belongs to another pod.
func TestDeleteWithoutAResponse(t *testing.T) {
	for name, f := range map[string]fault{"silence": {}, "504": {code: 504}, "cut": {reset: true}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *clusterTest) {
				other, end := r.open()
				defer end()
				r.begin("a")
				f.verb, f.times, f.happens = "delete", 2, true
				r.api.inject(f)
				stopped := make(chan error)
				go func() { stopped <- r.Stop("a") }()
				for len(r.api.uids()) > 0 {
					<-time.After(time.Millisecond)
				}
				if err := other.Start(r.Context(), "a", r.agent()); err != nil {
					r.Fatalf("Start while the other one has no answer: %v", err)
				}
				if err := <-stopped; err != nil {
					r.Errorf("Stop = %v", err)
				}
				if o, err := other.Observe(r.Context(), "a"); err != nil || o.Agent != runtime.Alive {
					r.Errorf("what another one started is %s, %v", o.Agent, err)
				}
			})
		})
	}
}

// A lookup of a pod without a usable response does not mean that the pod does not exist.
func TestStopWhoseLookupFails(t *testing.T) {
	for name, f := range map[string]fault{
		"500": {code: 500}, "proxy's 404": {code: 404, text: "404 page not found"}, "proxy's 200": {code: 200, text: "{}"},
		"silence": {}, "cut": {reset: true}, "token": {code: 401, reason: metav1.StatusReasonUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *clusterTest) {
				r.begin("a")
				f.verb, f.times = "get", -1
				r.api.inject(f)
				if err := r.Stop("a"); err == nil || runtime.IsSessionGone(err) {
					r.Errorf("Stop = %v", err)
				}
				r.once("a")
			})
		})
	}
}

// A lost watch makes the state unknown: nothing is gone and nothing starts. Later the pods are seen again.
func TestLostWatchIsUnknown(t *testing.T) {
	inBubble(t, func(r *clusterTest) {
		r.begin("a")
		events, err := r.Watch(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		heal := r.api.inject(fault{verb: "list", times: -1, code: 503, reason: metav1.StatusReasonServiceUnavailable})
		r.api.cutWatches()
		synctest.Wait()
		r.wantError(r.wantUnknown("a"), runtime.ErrRuntimeUnavailable, "starts it again")
		<-time.After(time.Second)
		r.wantError(r.wantUnknown("a"), runtime.ErrRuntimeUnavailable, "/readyz")
		if names, err := r.ListRunning(""); !errors.Is(err, runtime.ErrRuntimeUnavailable) {
			r.Errorf("ListRunning = %v, %v", names, err)
		}
		r.wantError(r.Start(r.Context(), "a", r.agent()), runtime.ErrRuntimeUnavailable)
		r.wantError(r.Stop("a"), runtime.ErrRuntimeUnavailable)
		<-time.After(10 * time.Minute)
		if lists := len(r.api.count("list")); lists > 90 {
			r.Errorf("%d lists in 10 minutes of 503", lists)
		}
		heal()
		<-time.After(time.Minute)
		r.once("a")
		for len(events) > 0 {
			if e := <-events; e.Kind == runtime.EventGone || e.Kind == runtime.EventExited {
				r.Errorf("it is reported as %v", e)
			}
		}
	})
}

// Working lists and failing watches do not cause many requests.
func TestWatchThatAlwaysFails(t *testing.T) {
	for name, f := range map[string]fault{"503": {code: 503}, "cut": {reset: true}, "429": {code: 429}, "gone": {code: 410, reason: metav1.StatusReasonExpired}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *clusterTest) {
				r.begin("a")
				f.verb, f.times = "watch", -1
				r.api.inject(f)
				r.api.cutWatches()
				<-time.After(10 * time.Minute)
				if asked := len(r.api.count("")); asked > 180 {
					r.Errorf("%d requests in 10 minutes", asked)
				}
				if uids := r.api.uids(); len(uids) != 1 {
					r.Errorf("there are %v", uids)
				}
			})
		})
	}
}

// After an expired resource version the driver lists again. Until then the state stays the same, and missing
// pods are then reported as gone.
func TestExpiredResourceVersion(t *testing.T) {
	for name, refused := range map[string]bool{"event": false, "answer": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *clusterTest) {
				r.begin("a")
				r.begin("b")
				events, err := r.Watch(r.Context())
				if err != nil {
					r.Fatal(err)
				}
				for len(events) > 0 {
					<-events
				}
				if refused {
					r.api.inject(fault{verb: "watch", times: 1, code: http.StatusGone, reason: metav1.StatusReasonExpired})
				}
				r.api.mu.Lock()
				delete(r.api.pods, podName("city", "b")) // without an event
				r.api.mu.Unlock()
				r.api.forget()
				for len(r.api.count("list")) == 1 {
					<-time.After(time.Second)
					o, err := r.Observe(r.Context(), "a")
					if err == nil && o.Agent != runtime.Alive {
						r.Errorf("meanwhile it is %s", o.Agent)
					}
				}
				<-time.After(time.Second)
				r.wantObservation("a", runtime.Alive, runtime.Alive)
				r.wantObservation("b", runtime.Dead, runtime.Dead)
				gone := map[string]int{}
				for len(events) > 0 {
					if e := <-events; e.Kind == runtime.EventGone {
						gone[e.Session]++
					}
				}
				if gone["a"] != 0 || gone["b"] != 1 {
					r.Errorf("reported as gone: %v, want b once", gone)
				}
			})
		})
	}
}

// A list that is older than an event proves nothing: a newer pod is not gone.
func TestStaleListIsUnknown(t *testing.T) {
	inBubble(t, func(r *clusterTest) {
		r.begin("a")
		heal := r.api.inject(fault{verb: "list", times: -1, versions: "100"})
		r.api.cutWatches()
		<-time.After(time.Minute)
		r.wantError(r.wantUnknown("a"), runtime.ErrRuntimeUnavailable, "lists the pods again")
		r.wantError(r.Start(r.Context(), "a", r.agent()), runtime.ErrRuntimeUnavailable)
		heal()
		<-time.After(time.Minute)
		r.once("a")
	})
}

// A response that is older than the watch does not restore a removed pod.
func TestResponseOlderThanTheWatch(t *testing.T) {
	inBubble(t, func(r *clusterTest) {
		r.begin("a")
		old, err := r.view.pod("a")
		if err != nil {
			r.Fatal(err)
		}
		if err := r.Stop("a"); err != nil {
			r.Fatal(err)
		}
		r.view.applyResponse(old)
		r.wantObservation("a", runtime.Dead, runtime.Dead)
		r.begin("a")
		r.view.applyResponse(old)
		r.wantObservation("a", runtime.Alive, runtime.Alive)
	})
}

// Responses of a proxy instead of the API server are ignored.
func TestResponseOfAProxyIsIgnored(t *testing.T) {
	for _, text := range []string{"{}", `{"kind":"PodList","items":[]}`, "<html>log in</html>", `{"kind":"Status","status":"Success"}`, `{"kind":"PodList","metadata":{"resourceVersion":"999999"},"items":[`} {
		inBubble(t, func(r *clusterTest) {
			r.begin("a")
			heal := r.api.inject(fault{verb: "list", times: -1, code: 200, text: text})
			r.api.cutWatches()
			<-time.After(time.Minute)
			r.wantObservation("a", runtime.Unknown, runtime.Unknown)
			heal()
			<-time.After(time.Minute)
			r.once("a")
		})
	}
}

// With an expired token the state is unknown. With the next token it is as before.
func TestExpiredToken(t *testing.T) {
	inBubble(t, func(r *clusterTest) {
		r.api.token = "good"
		r.begin("a")
		r.api.mu.Lock()
		r.api.token = "next"
		r.api.mu.Unlock()
		_, err := r.create(r.Context(), &corev1.Pod{})
		r.wantError(err, ErrLogin, "log in", "kubectl auth whoami")
		r.wantError(r.Start(r.Context(), "b", r.agent()), ErrLogin, "log in")
		r.api.cutWatches()
		<-time.After(10 * time.Minute)
		r.wantError(r.wantUnknown("a"), ErrLogin, "log in")
		r.wantError(r.Stop("a"), ErrLogin)
		if err := os.WriteFile(r.config.BearerTokenFile, []byte("next"), 0o600); err != nil {
			r.Fatal(err)
		}
		<-time.After(3 * time.Minute)
		r.once("a")
		if created, deleted := len(r.api.count("create")), len(r.api.count("delete")); created != 3 || deleted != 0 {
			r.Errorf("%d pods were asked for and %d deletions; want 3 and none", created, deleted)
		}
	})
}

// A token expires while the pod of a failed start is removed. The pod is removed with the next token.
func TestTokenExpiresDuringTheCleanupOfAStart(t *testing.T) {
	inBubble(t, func(r *clusterTest) {
		r.api.stays = true
		r.api.inject(fault{verb: "delete", times: 3, code: http.StatusUnauthorized, reason: metav1.StatusReasonUnauthorized})
		ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
		defer cancel()
		if err := r.Start(ctx, "a", r.agent()); !errors.Is(err, context.DeadlineExceeded) {
			r.Errorf("Start = %v", err)
		}
		if uids := r.api.uids(); len(uids) != 0 {
			r.Errorf("it leaves %v", uids)
		}
	})
}

// A pod whose start was interrupted by a kill does not block the next start. At first the starting process may
// still run; after a limit the session counts as gone.
func TestPodOfAnInterruptedStart(t *testing.T) {
	for name, phase := range map[string]func(*corev1.Pod){
		"runs":      nil,
		"has none":  func(*corev1.Pod) {},
		"waits for": func(p *corev1.Pod) { p.Spec.NodeName = "n1" },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *clusterTest) {
				r.api.stays, r.api.stuck = phase != nil, phase
				pod, err := manifest(podSpec{city: "city", session: "a", place: "p", try: "another", settings: r.cfg.Settings, cfg: r.agent()})
				if err == nil {
					_, err = r.cluster.create(r.Context(), pod)
				}
				if err != nil {
					r.Fatal(err)
				}
				r.api.stays = false
				<-time.After(time.Second)
				r.wantObservation("a", runtime.Alive, runtime.Unknown)
				r.wantError(r.Start(r.Context(), "a", r.agent()), runtime.ErrSessionInitializing)
				<-time.After(orphanedAfter / 2)
				r.wantObservation("a", runtime.Alive, runtime.Unknown)
				<-time.After(orphanedAfter)
				r.wantObservation("a", runtime.Alive, runtime.Dead)
				_, err = r.GetMeta("a", "KEY")
				r.wantError(err, runtime.ErrSessionNotFound)
				before := r.api.uids()
				r.begin("a")
				r.once("a")
				if now := r.api.uids(); now[0] == before[0] {
					r.Error("the pod of the start that was cut off is used")
				}
			})
		})
	}
}
