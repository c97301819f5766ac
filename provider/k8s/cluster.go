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

// cluster sends requests to the API server: pods, events and leases of one namespace. It reads its
// configuration at the first request.
type cluster struct {
	settings Settings

	mu  sync.Mutex
	api *apiConfig // nil until it is read
}

// apiConfig is the client configuration for the API server.
type apiConfig struct {
	config    *rest.Config
	http      *http.Client
	namespace string
}

// requestTimeout is the limit for one request. It does not apply to a watch.
const requestTimeout = 30 * time.Second

// errNoAnswer is the cause when requestTimeout ends. The server may or may not have processed the
// request.
var errNoAnswer = fmt.Errorf("%w: the cluster did not answer within %v (kubectl get --raw /readyz shows its state)", runtime.ErrRuntimeUnavailable, requestTimeout)

func withRequestTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, requestTimeout, errNoAnswer)
}

// open reads the client configuration: KUBECONFIG, else the user's file, else the service account
// of the pod that gc runs in.
func (c *cluster) open() (*apiConfig, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api != nil {
		return c.api, nil
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{CurrentContext: c.settings.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read a client configuration for a cluster: %w", runtime.ErrRuntimeUnavailable, err)
	}
	config.QPS, config.UserAgent = -1, "gc"
	// The library logs the end of each connection to standard error, which may be a person's
	// terminal. Errors that matter are returned.
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read a client configuration for a cluster: %w", runtime.ErrRuntimeUnavailable, err)
	}
	c.api = &apiConfig{config, client, cmp.Or(c.settings.Namespace, "gc")}
	return c.api, nil
}

// address returns the URL of a resource in the namespace.
func (a *apiConfig) address(query url.Values, parts ...string) (*url.URL, error) {
	base, _, err := rest.DefaultServerUrlFor(a.config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", runtime.ErrRuntimeUnavailable, err)
	}
	group := []string{"api", "v1"}
	if parts[0] == leases {
		group = []string{"apis", "coordination.k8s.io", "v1"}
	}
	out := base.JoinPath(slices.Concat(group, []string{"namespaces", a.namespace}, parts)...)
	out.RawQuery = query.Encode()
	return out, nil
}

// send sends one request and returns its response, which has a 2xx status. The caller must close
// the body.
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

// apiRequest is one request that is not a watch.
type apiRequest struct {
	method string
	body   any
	query  url.Values
	parts  []string
}

// callAPI sends a request and decodes its response.
func callAPI[T any](ctx context.Context, c *cluster, a apiRequest) (*T, error) {
	response, err := c.send(ctx, a.method, a.body, a.query, a.parts...)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var out T
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		return nil, fmt.Errorf("%w: the cluster's answer is incomplete or not valid JSON: %w", runtime.ErrRuntimeUnavailable, err)
	}
	return &out, nil
}

// get requests one pod by its name.
func (c *cluster) get(ctx context.Context, name string) (*corev1.Pod, error) {
	ctx, cancel := withRequestTimeout(ctx)
	defer cancel()
	return onePod(callAPI[corev1.Pod](ctx, c, apiRequest{http.MethodGet, nil, nil, []string{"pods", name}}))
}

// create requests the creation of a pod and returns the pod as the cluster stored it.
func (c *cluster) create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	ctx, cancel := withRequestTimeout(ctx)
	defer cancel()
	return onePod(callAPI[corev1.Pod](ctx, c, apiRequest{http.MethodPost, pod, nil, []string{"pods"}}))
}

// onePod returns an error if the response does not come from an API server. A proxy may have made
// it.
func onePod(pod *corev1.Pod, err error) (*corev1.Pod, error) {
	if err == nil && (pod.UID == "" || pod.ResourceVersion == "") {
		return nil, fmt.Errorf("%w: the answer is not from an API server (is there a proxy in between?)", runtime.ErrRuntimeUnavailable)
	}
	return pod, err
}

// remove deletes the pod with the UID of pod. It returns nil if that pod does not exist any more.
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

// list requests all pods of the city. An answer that is not a list of an API server, for example of a proxy, is an
// error that matches [runtime.ErrRuntimeUnavailable].
func (c *cluster) list(ctx context.Context, city string) (*corev1.PodList, error) {
	ctx, cancel := withRequestTimeout(ctx)
	defer cancel()
	list, err := callAPI[corev1.PodList](ctx, c, apiRequest{http.MethodGet, nil, url.Values{"labelSelector": {selector(city)}}, []string{"pods"}})
	if err == nil && (list.Kind != "PodList" || list.ResourceVersion == "") {
		return nil, fmt.Errorf("%w: the answer is not from an API server (is there a proxy in between?)", runtime.ErrRuntimeUnavailable)
	}
	return list, err
}

// watchFor is how long the API server keeps one watch open.
const watchFor = 5 * time.Minute

// watch opens a stream of changes to the city's pods, beginning after the given version of the list.
func (c *cluster) watch(ctx context.Context, city, version string) (*http.Response, error) {
	return c.send(ctx, http.MethodGet, nil, url.Values{
		"labelSelector": {selector(city)}, "watch": {"1"}, "resourceVersion": {version}, "allowWatchBookmarks": {"true"},
		"timeoutSeconds": {fmt.Sprint(int(watchFor.Seconds()))},
	}, "pods")
}

// warnings returns the warning events about a pod, the newest last. It returns nil if the request
// fails.
func (c *cluster) warnings(ctx context.Context, pod *corev1.Pod) []string {
	ctx, cancel := withRequestTimeout(ctx)
	defer cancel()
	list, err := callAPI[corev1.EventList](ctx, c, apiRequest{http.MethodGet, nil, url.Values{"fieldSelector": {"involvedObject.uid=" + string(pod.UID)}}, []string{"events"}})
	if err != nil {
		return nil // the warnings only add an explanation
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
