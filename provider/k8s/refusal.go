package k8s

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity/runtime"
)

// StatusError is a request that the API server refused.
type StatusError struct {
	Code   int    // of HTTP
	Reason string // Kubernetes' own word
	Text   string
	Kind   error         // what it means
	After  time.Duration // not to be asked again before, as the server wishes; zero if it does not say
	Remedy string        // what a person may do; empty if the text says it
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%v: %s", e.Kind, e.Text)
	if e.Remedy != "" {
		text += " (" + e.Remedy + ")"
	}
	return text
}

// Unwrap returns what it means.
func (e *StatusError) Unwrap() error { return e.Kind }

// errConflict says that what was meant is another one by now; errTaken that the name is.
var (
	errNotThere = errors.New("it is not there")
	errTaken    = errors.New("the name is taken")
	errConflict = errors.New("it is another one by now")
	errTooOld   = errors.New("the watch is too old")
)

// statusLimit bounds what is read of a refusal.
const statusLimit = 64 << 10

func refusal(response *http.Response) error {
	var status metav1.Status
	text, _ := io.ReadAll(io.LimitReader(response.Body, statusLimit)) // what came says enough
	_ = json.Unmarshal(text, &status)                                 // or it is no Status, and its text is reported
	e := &StatusError{
		Code: response.StatusCode, Reason: string(status.Reason), After: pauseWanted(response, &status),
		Text: cmp.Or(status.Message, strings.TrimSpace(string(text)), response.Status),
	}
	e.Kind = errorMeaning(e, &status)
	e.Remedy = e.remedy()
	return e
}

// maxRetryAfter bounds how long a server may have us wait.
const maxRetryAfter = time.Minute

// pauseWanted returns how long the server wants to be left alone.
func pauseWanted(response *http.Response, status *metav1.Status) time.Duration {
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // nothing, or a date, is no wish
	if status.Details != nil {
		seconds = max(seconds, int(status.Details.RetryAfterSeconds))
	}
	return min(time.Duration(max(seconds, 0))*time.Second, maxRetryAfter)
}

// errorMeaning is what a refusal is to us. What may be different the next time is unknown, and
// so is what the API server did not say itself: that something is not there, or is another
// one, is believed from no proxy on the way.
func errorMeaning(e *StatusError, status *metav1.Status) error {
	if e.Code == http.StatusNotFound || e.Code == http.StatusConflict || e.Code == http.StatusGone {
		return ofObject(e.Code, status)
	}
	switch {
	case e.Code == http.StatusForbidden && strings.Contains(e.Text, "exceeded quota"):
		return ErrQuota
	case strings.Contains(e.Text, "admission webhook"), strings.Contains(e.Text, "ValidatingAdmissionPolicy"), // they choose the code
		e.Code == http.StatusForbidden && strings.Contains(e.Text, "violates PodSecurity"):
		return ErrNotAdmitted
	case e.Code == http.StatusUnauthorized:
		return ErrLogin
	case e.Code == http.StatusForbidden:
		return ErrForbidden
	case e.Code == http.StatusUnprocessableEntity, e.Code == http.StatusBadRequest:
		return ErrInvalidPod
	}
	return runtime.ErrRuntimeUnavailable
}

func ofObject(code int, status *metav1.Status) error {
	switch {
	case status.Reason == metav1.StatusReasonNotFound && status.Details != nil && status.Details.Kind == "namespaces":
		return ErrNoNamespace
	case status.Reason == metav1.StatusReasonNotFound:
		return errNotThere
	case status.Reason == metav1.StatusReasonAlreadyExists:
		return errTaken
	case status.Reason == metav1.StatusReasonConflict:
		return errConflict
	case status.Kind == "Status" && code == http.StatusGone:
		return errTooOld
	}
	return runtime.ErrRuntimeUnavailable
}

// remedy returns what a person may do about a refusal.
func (e *StatusError) remedy() string {
	switch {
	case errors.Is(e.Kind, ErrLogin):
		return "log in to the cluster again; kubectl auth whoami shows whether it knows you"
	case errors.Is(e.Kind, ErrForbidden):
		return "kubectl auth can-i --list shows what is allowed; docs/how-to/run-in-kubernetes.md has the role"
	case errors.Is(e.Kind, ErrNoNamespace):
		return "kubectl create namespace makes it"
	case errors.Is(e.Kind, ErrQuota):
		return "kubectl describe quota shows it; stop agents, or lower their requests and limits"
	case e.Code == http.StatusTooManyRequests:
		return "the API server is asked too much: it is left alone for a while, then asked again"
	case errors.Is(e.Kind, runtime.ErrRuntimeUnavailable):
		return "it is asked again; kubectl get --raw /readyz shows how the API server is"
	}
	return ""
}

// isIndeterminate reports an error after which it is not known whether the request did what it
// ought to, or after which the same one may be answered otherwise.
func isIndeterminate(err error) bool { return errors.Is(err, runtime.ErrRuntimeUnavailable) }

// waitOut waits before the next try: as long as the server wished, at least. It returns an
// error if ctx ends.
func waitOut(ctx context.Context, pause backoff.BackOff, err error) error {
	wait := pause.NextBackOff()
	if refused, ok := errors.AsType[*StatusError](err); ok {
		wait = max(wait, refused.After)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pauses grow from first to last.
func pauses(first, last time.Duration) *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = first, last
	return b
}
