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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity/internal/retry"
	"gascity/runtime"
)

// StatusError is the error of a request that the API server refused.
type StatusError struct {
	Code   int           // HTTP status
	Reason string        // reason in the Kubernetes status
	Text   string        // message of the server
	Kind   error         // meaning of the refusal
	After  time.Duration // delay before the next try that the server requested; zero if none
	Remedy string        // advice for a person; empty if Text is enough
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%v: %s", e.Kind, e.Text)
	if e.Remedy != "" {
		text += " (" + e.Remedy + ")"
	}
	return text
}

// Unwrap returns the meaning of the refusal.
func (e *StatusError) Unwrap() error { return e.Kind }

// Meanings of a refusal that only the driver uses.
var (
	errNotThere = errors.New("the object does not exist")
	errTaken    = errors.New("an object with this name exists already")
	errConflict = errors.New("the object has been changed or replaced")
	errTooOld   = errors.New("the resource version of the watch is too old")
)

// statusLimit is the maximum number of bytes that are read from a refusal.
const statusLimit = 64 << 10

// refusal returns the error of a response that is not a success.
func refusal(response *http.Response) error {
	var status metav1.Status
	text, _ := io.ReadAll(io.LimitReader(response.Body, statusLimit)) // an incomplete text is enough
	_ = json.Unmarshal(text, &status)                                 // if it is not a Status, Text is the body
	e := &StatusError{
		Code: response.StatusCode, Reason: string(status.Reason), After: requestedDelay(response, &status),
		Text: cmp.Or(status.Message, strings.TrimSpace(string(text)), response.Status),
	}
	e.Kind = errorMeaning(e, &status)
	e.Remedy = e.remedy()
	return e
}

// maxRetryAfter is the longest delay that a server can request.
const maxRetryAfter = time.Minute

// requestedDelay returns the delay before the next try that the server requested, at most
// maxRetryAfter.
func requestedDelay(response *http.Response, status *metav1.Status) time.Duration {
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // a missing value or a date counts as 0
	if status.Details != nil {
		seconds = max(seconds, int(status.Details.RetryAfterSeconds))
	}
	return min(time.Duration(max(seconds, 0))*time.Second, maxRetryAfter)
}

// errorMeaning returns the meaning of a refusal. A refusal that may be over at the next try means
// runtime.ErrRuntimeUnavailable. The statuses 404, 409 and 410 count only if the API server itself
// sent them, because a proxy may send them too.
func errorMeaning(e *StatusError, status *metav1.Status) error {
	if e.Code == http.StatusNotFound || e.Code == http.StatusConflict || e.Code == http.StatusGone {
		return objectErrorMeaning(e.Code, status)
	}
	switch {
	case e.Code == http.StatusForbidden && strings.Contains(e.Text, "exceeded quota"):
		return ErrQuota
	case strings.Contains(e.Text, "admission webhook"), strings.Contains(e.Text, "ValidatingAdmissionPolicy"), // a webhook chooses the status
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

// objectErrorMeaning returns the meaning of status 404, 409 or 410.
func objectErrorMeaning(code int, status *metav1.Status) error {
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

// remedy returns advice for a person, or "" if there is none.
func (e *StatusError) remedy() string {
	switch {
	case errors.Is(e.Kind, ErrLogin):
		return "log in to the cluster again; kubectl auth whoami shows your identity"
	case errors.Is(e.Kind, ErrForbidden):
		return "kubectl auth can-i --list shows what is allowed; docs/how-to/run-in-kubernetes.md has the role"
	case errors.Is(e.Kind, ErrNoNamespace):
		return "create it with kubectl create namespace"
	case errors.Is(e.Kind, ErrQuota):
		return "kubectl describe quota shows it; stop agents, or lower their requests and limits"
	case e.Code == http.StatusTooManyRequests:
		return "the API server has too many requests; gc tries again later"
	case errors.Is(e.Kind, runtime.ErrRuntimeUnavailable):
		return "gc tries again; kubectl get --raw /readyz shows the state of the API server"
	}
	return ""
}

// isIndeterminate reports whether the request may have been processed in spite of err, or whether
// the same request may succeed later.
func isIndeterminate(err error) bool { return errors.Is(err, runtime.ErrRuntimeUnavailable) }

// waitBeforeRetry waits before the next try: the next delay, or the delay that the server requested if it
// is longer. It returns an error if ctx ends.
func waitBeforeRetry(ctx context.Context, delay *retry.Backoff, err error) error {
	wait := delay.Next()
	if refused, ok := errors.AsType[*StatusError](err); ok {
		wait = max(wait, refused.After)
	}
	if !retry.Sleep(ctx, wait) {
		return context.Cause(ctx)
	}
	return nil
}
