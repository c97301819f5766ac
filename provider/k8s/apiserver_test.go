package k8s

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// apiServer is the part of an API server that the driver uses: pods of one namespace, their watch and events.
// Pods run at once.
type apiServer struct {
	testing.TB

	mu      sync.Mutex
	version int
	pods    map[string]*corev1.Pod
	history []change
	moved   chan struct{} // closed at each change, and replaced
	faults  []*fault
	asked   []asked1
	cut     chan struct{}     // closed to cut all watches
	token   string            // the accepted token; empty: any
	stays   bool              // new pods are not scheduled
	stuck   func(*corev1.Pod) // called for pods that are not scheduled
	held    string            // events, as JSON
}

// asked1 is a received request.
type asked1 struct {
	verb string
	at   time.Time
}

type change struct {
	version int
	kind    string
	object  json.RawMessage
}

// fault replaces the responses of some requests.
type fault struct {
	verb     string // create, delete, get, list, watch, events
	times    int    // how often; negative: until it is removed
	happens  bool   // the request has its effect
	code     int    // of HTTP; zero: no response
	reset    bool   // the connection is closed
	after    int    // seconds in Retry-After
	reason   metav1.StatusReason
	text     string // the body, instead of a Status
	words    string // of the Status
	versions string // of the list's answer
}

func newAPIServer(t testing.TB) *apiServer {
	return &apiServer{TB: t, version: 100, pods: map[string]*corev1.Pod{}, moved: make(chan struct{}), cut: make(chan struct{})}
}

// inject adds a fault and returns the function that removes it.
func (s *apiServer) inject(f fault) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		f.times = 0
	}
}

// cutWatches ends all watches, like a lost connection.
func (s *apiServer) cutWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.cut)
	s.cut = make(chan struct{})
}

// count returns the number and the times of the requests of a kind.
func (s *apiServer) count(verb string) (at []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.asked {
		if a.verb == verb || verb == "" {
			at = append(at, a.at)
		}
	}
	return at
}

// uids returns the UIDs of the pods.
func (s *apiServer) uids() (uids []types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pod := range s.pods {
		uids = append(uids, pod.UID)
	}
	return uids
}

// has reports whether the pod exists.
func (s *apiServer) has(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pod := range s.pods {
		if pod.UID == uid {
			return true
		}
	}
	return false
}

func (s *apiServer) fault(verb string) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, asked1{verb, time.Now()})
	i := slices.IndexFunc(s.faults, func(f *fault) bool { return f.verb == verb && f.times != 0 })
	if i < 0 {
		return nil
	}
	s.faults[i].times--
	return s.faults[i]
}

func verbOf(r *http.Request) (verb, name string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // api v1 namespaces gc pods NAME
	if parts[4] == "events" {
		return "events", ""
	}
	if len(parts) > 5 {
		name = parts[5]
	}
	switch {
	case r.Method == http.MethodPost:
		verb = "create"
	case r.Method == http.MethodDelete:
		verb = "delete"
	case name != "":
		verb = "get"
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	default:
		verb = "list"
	}
	return verb, name
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	verb, name := verbOf(r)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.Error(err)
	}
	f := s.fault(verb)
	if f == nil || f.happens {
		s.mu.Lock()
		wanted := s.token
		s.mu.Unlock()
		if wanted != "" && r.Header.Get("Authorization") != "Bearer "+wanted {
			f = &fault{code: http.StatusUnauthorized, reason: metav1.StatusReasonUnauthorized}
		}
	}
	var lost discarded
	switch {
	case f == nil:
		s.do(w, r, verb, name, body)
		return
	case f.versions != "":
		writeJSON(w, http.StatusOK, corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: f.versions}})
		return
	case f.happens:
		s.do(&lost, r, verb, name, body)
	}
	switch {
	case f.reset:
		panic(http.ErrAbortHandler)
	case f.code == 0:
		<-r.Context().Done()
	case f.text != "":
		w.WriteHeader(f.code)
		_, _ = io.WriteString(w, f.text) // the client may have disconnected
	default:
		if f.after > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(f.after))
		}
		refuse(w, f.code, f.reason, cmp.Or(f.words, "injected"))
	}
}

type discarded struct{ header http.Header }

func (d *discarded) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}
func (d *discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d *discarded) WriteHeader(int)             {}

func (s *apiServer) do(w http.ResponseWriter, r *http.Request, verb, name string, body []byte) {
	switch verb {
	case "create":
		s.create(w, body)
	case "delete":
		s.delete(w, name, body)
	case "get":
		s.mu.Lock()
		pod := s.pods[name]
		s.mu.Unlock()
		if pod == nil {
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "pods "+name+" not found")
			return
		}
		writeJSON(w, http.StatusOK, pod)
	case "list":
		s.mu.Lock()
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}}
		for _, pod := range s.pods {
			list.Items = append(list.Items, *pod)
		}
		s.mu.Unlock()
		writeJSON(w, http.StatusOK, list)
	case "watch":
		s.watch(w, r)
	case "events":
		s.mu.Lock()
		defer s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"EventList","items":[%s]}`, s.held) // the client may have disconnected
	}
}

func (s *apiServer) create(w http.ResponseWriter, body []byte) {
	var pod corev1.Pod
	if err := json.Unmarshal(body, &pod); err != nil {
		s.Error(err)
	}
	s.mu.Lock()
	if s.pods[pod.Name] != nil {
		s.mu.Unlock()
		refuse(w, http.StatusConflict, metav1.StatusReasonAlreadyExists, "it exists")
		return
	}
	pod.UID, pod.CreationTimestamp = types.UID(fmt.Sprintf("uid-%d", s.version)), metav1.Now()
	s.putLocked("ADDED", &pod)
	made := *s.pods[pod.Name]
	if s.stays && s.stuck != nil {
		s.stuck(&pod)
		s.putLocked("MODIFIED", &pod)
	}
	if !s.stays {
		pod.Spec.NodeName = "n1"
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{Name: containerAgent, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		}}
		s.putLocked("MODIFIED", &pod)
	}
	s.mu.Unlock()
	writeJSON(w, http.StatusCreated, made)
}

func (s *apiServer) delete(w http.ResponseWriter, name string, body []byte) {
	var options metav1.DeleteOptions
	if err := json.Unmarshal(body, &options); err != nil || options.Preconditions == nil {
		s.Errorf("a pod is deleted by its name alone: %s, %v", body, err)
	}
	s.mu.Lock()
	pod := s.pods[name]
	switch {
	case pod == nil:
		s.mu.Unlock()
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
		return
	case *options.Preconditions.UID != pod.UID:
		s.mu.Unlock()
		refuse(w, http.StatusConflict, metav1.StatusReasonConflict, "another uid")
		return
	}
	s.putLocked("DELETED", pod)
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, pod)
}

// edit changes a pod as the cluster does.
func (s *apiServer) edit(name string, change func(*corev1.Pod)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pod := s.pods[name].DeepCopy()
	change(pod)
	s.putLocked("MODIFIED", pod)
}

// drop removes a pod as the cluster does.
func (s *apiServer) drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked("DELETED", s.pods[name])
}

func (s *apiServer) putLocked(kind string, pod *corev1.Pod) {
	s.version++
	pod = pod.DeepCopy()
	pod.ResourceVersion = strconv.Itoa(s.version)
	if s.pods[pod.Name] = pod; kind == "DELETED" {
		delete(s.pods, pod.Name)
	}
	text, err := json.Marshal(pod)
	if err != nil {
		s.Error(err)
	}
	s.history = append(s.history, change{s.version, kind, text})
	close(s.moved)
	s.moved = make(chan struct{})
}

// forget expires all resource versions up to now.
func (s *apiServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version += 10
	s.history = append(s.history[:0], change{s.version, "BOOKMARK", json.RawMessage(fmt.Sprintf(`{"metadata":{"resourceVersion":"%d"}}`, s.version))})
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		s.Errorf("a watch begins nowhere: %v", err)
	}
	seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	if err != nil {
		s.Errorf("a watch has no end: %v", err)
	}
	over := time.NewTimer(time.Duration(seconds) * time.Second)
	defer over.Stop()
	s.mu.Lock()
	cut := s.cut
	s.mu.Unlock()
	w.WriteHeader(http.StatusOK)
	for {
		s.mu.Lock()
		next := s.moved
		var out bytes.Buffer
		if len(s.history) > 0 && s.history[0].kind == "BOOKMARK" && s.history[0].version > from {
			fmt.Fprint(&out, `{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}}`+"\n")
		}
		for _, c := range s.history {
			if c.version > from {
				fmt.Fprintf(&out, `{"type":%q,"object":%s}`+"\n", c.kind, c.object)
				from = c.version
			}
		}
		s.mu.Unlock()
		_, _ = w.Write(out.Bytes()) // the client may have disconnected
		w.(http.Flusher).Flush()
		select {
		case <-next:
		case <-cut:
			panic(http.ErrAbortHandler)
		case <-over.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, text string) {
	writeJSON(w, code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Reason: reason, Message: text}) //nolint:gosec // of HTTP
}
