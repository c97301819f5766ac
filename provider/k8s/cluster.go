package k8s

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"gascity/runtime"
)

// cluster speaks to the API server: pods and events of one namespace. Nothing is read or
// connected before the first request.
type cluster struct {
	settings Settings

	mu   sync.Mutex
	line *line // nil until it is read
}

// line is the way to the API server.
type line struct {
	config *rest.Config
	http   *http.Client
	space  string
}

// requestTimeout bounds one request that is no watch.
const requestTimeout = 30 * time.Second

// errSilent is the end of that time. Whether the request did what it ought to is not known.
var errSilent = fmt.Errorf("%w: the cluster did not answer within %v (kubectl get --raw /readyz shows how it is)", runtime.ErrRuntimeUnavailable, requestTimeout)

func withRequestTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, requestTimeout, errSilent)
}

// open reads the client configuration: KUBECONFIG, the user's file, or that of the pod
// that gc itself runs in.
func (c *cluster) open() (*line, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line != nil {
		return c.line, nil
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{CurrentContext: c.settings.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: there is no way to a cluster: %w", runtime.ErrRuntimeUnavailable, err)
	}
	config.QPS, config.UserAgent = -1, "gc"
	// The library prints the end of each connection on standard error, where a person's
	// terminal may be. What matters comes as errors.
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("%w: there is no way to a cluster: %w", runtime.ErrRuntimeUnavailable, err)
	}
	c.line = &line{config, client, cmp.Or(c.settings.Namespace, "gc")}
	return c.line, nil
}

// address returns that of something in the namespace.
func (l *line) address(query url.Values, parts ...string) (*url.URL, error) {
	base, _, err := rest.DefaultServerUrlFor(l.config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", runtime.ErrRuntimeUnavailable, err)
	}
	group := []string{"api", "v1"}
	if parts[0] == leases {
		group = []string{"apis", "coordination.k8s.io", "v1"}
	}
	out := base.JoinPath(slices.Concat(group, []string{"namespaces", l.space}, parts)...)
	out.RawQuery = query.Encode()
	return out, nil
}

// send makes one request. The answer's body is the caller's to close, and its status is
// a good one.
func (c *cluster) send(ctx context.Context, method string, body any, query url.Values, parts ...string) (*http.Response, error) {
	l, err := c.open()
	if err != nil {
		return nil, err
	}
	address, err := l.address(query, parts...)
	if err != nil {
		return nil, err
	}
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, address.String(), content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := l.http.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, fmt.Errorf("%w: the cluster does not answer (kubectl cluster-info shows whether it can be reached): %w", runtime.ErrRuntimeUnavailable, err)
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	return nil, refusal(response)
}

// apiRequest is one request that is no watch.
type apiRequest struct {
	method string
	body   any
	query  url.Values
	parts  []string
}

// callAPI makes a request and reads its answer.
func callAPI[T any](ctx context.Context, c *cluster, a apiRequest) (*T, error) {
	response, err := c.send(ctx, a.method, a.body, a.query, a.parts...)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var out T
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		return nil, fmt.Errorf("%w: the cluster's answer was cut off: %w", runtime.ErrRuntimeUnavailable, err)
	}
	return &out, nil
}

func (c *cluster) get(ctx context.Context, name string) (*corev1.Pod, error) {
	ctx, cancel := withRequestTimeout(ctx)
	defer cancel()
	return onePod(callAPI[corev1.Pod](ctx, c, apiRequest{http.MethodGet, nil, nil, []string{"pods", name}}))
}

func (c *cluster) create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	ctx, cancel := withRequestTimeout(ctx)
	defer cancel()
	return onePod(callAPI[corev1.Pod](ctx, c, apiRequest{http.MethodPost, pod, nil, []string{"pods"}}))
}

// onePod refuses an answer that somebody on the way has made up.
func onePod(pod *corev1.Pod, err error) (*corev1.Pod, error) {
	if err == nil && (pod.UID == "" || pod.ResourceVersion == "") {
		return nil, fmt.Errorf("%w: the answer is not from an API server (is a proxy in between?)", runtime.ErrRuntimeUnavailable)
	}
	return pod, err
}

// remove deletes the pod with that identity and no other. One that is gone is no error.
func (c *cluster) remove(ctx context.Context, pod *corev1.Pod, grace int64) error {
	ctx, cancel := withRequestTimeout(ctx)
	defer cancel()
	options := metav1.DeleteOptions{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, GracePeriodSeconds: &grace,
		Preconditions: &metav1.Preconditions{UID: &pod.UID},
	}
	response, err := c.send(ctx, http.MethodDelete, options, nil, "pods", pod.Name)
	switch {
	case errors.Is(err, errNotThere), errors.Is(err, errConflict):
		return nil
	case err != nil:
		return err
	}
	return response.Body.Close()
}

func (c *cluster) list(ctx context.Context, city string) (*corev1.PodList, error) {
	ctx, cancel := withRequestTimeout(ctx)
	defer cancel()
	list, err := callAPI[corev1.PodList](ctx, c, apiRequest{http.MethodGet, nil, url.Values{"labelSelector": {selector(city)}}, []string{"pods"}})
	if err == nil && (list.Kind != "PodList" || list.ResourceVersion == "") {
		return nil, fmt.Errorf("%w: the answer is not from an API server (is a proxy in between?)", runtime.ErrRuntimeUnavailable)
	}
	return list, err
}

// watchFor is how long the API server keeps one watch open.
const watchFor = 5 * time.Minute

func (c *cluster) watch(ctx context.Context, city, version string) (*http.Response, error) {
	return c.send(ctx, http.MethodGet, nil, url.Values{
		"labelSelector": {selector(city)}, "watch": {"1"}, "resourceVersion": {version}, "allowWatchBookmarks": {"true"},
		"timeoutSeconds": {fmt.Sprint(int(watchFor.Seconds()))},
	}, "pods")
}

// warnings returns what the cluster says of a pod, the newest last.
func (c *cluster) warnings(ctx context.Context, pod *corev1.Pod) []string {
	ctx, cancel := withRequestTimeout(ctx)
	defer cancel()
	list, err := callAPI[corev1.EventList](ctx, c, apiRequest{http.MethodGet, nil, url.Values{"fieldSelector": {"involvedObject.uid=" + string(pod.UID)}}, []string{"events"}})
	if err != nil {
		return nil // it is only explained less
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	var out []string
	for i := range list.Items {
		if e := &list.Items[i]; e.Type == corev1.EventTypeWarning {
			out = append(out, e.Reason+": "+e.Message)
		}
	}
	return out
}
