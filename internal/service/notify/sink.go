package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"gascity/internal/config"
)

// Environment is what sinks need of this machine.
type Environment struct {
	Dir     string   // where commands run: the city directory
	Environ []string // of commands: NAME=value
	GOOS    string
	Secrets config.SecretSource
	// FindProgram returns the path of a program, like exec.LookPath.
	FindProgram func(name string) (string, error)
	// Push is what a sink of the type webpush needs.
	Push Push
}

// NewSink returns the sink of a [[notify]] section that was checked by package config.
func NewSink(n *config.Notify, env Environment) Sink {
	sink := Sink{Name: n.Name, Type: string(n.Type), Timeout: n.Timeout, Buttons: maxButtons(n), account: account{n.Type, n.URL, n.Token}}
	if n.Type != config.NotifyWebPush {
		sink.Sender = newSender(n, env)
		return sink
	}
	client := newHTTPClient(env.Push.transport())
	sink.ForDevice = func(device string) Sender { return &webPush{push: env.Push, client: client, device: device} }
	return sink
}

// account identifies whose requests a service counts. A delay that the service asked for holds for its account.
type account struct {
	service    config.NotifyType
	url, token config.Secret
}

// The largest numbers of answer buttons of a message.
const (
	maxNtfyButtons     = 3 // a limit of ntfy
	maxTelegramButtons = 8
	maxPushButtons     = 2 // a limit of browsers
)

// maxButtons returns the largest number of answer buttons of a message to the sink.
func maxButtons(n *config.Notify) int {
	switch {
	case !n.Answer:
		return 0
	case n.Type == config.NotifyNtfy:
		return maxNtfyButtons
	case n.Type == config.NotifyTelegram:
		return maxTelegramButtons
	case n.Type == config.NotifyWebPush:
		return maxPushButtons
	}
	return 0
}

// newSender returns the sender for the type of the sink.
func newSender(n *config.Notify, env Environment) Sender {
	switch n.Type {
	case config.NotifyExec:
		return command{line: n.Command, env: env}
	case config.NotifyDesktop:
		return desktop{env}
	case config.NotifyTerminal:
		return terminal{socket: n.Socket, env: env}
	case config.NotifyEmail:
		return email{n: *n, env: env}
	case config.NotifyTelegram:
		return &telegram{web: newWeb(n, env)}
	default:
		return newWeb(n, env)
	}
}

// newHTTPClient returns a client that follows no redirect, because the requests have credentials.
func newHTTPClient(transport *http.Transport) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// newTransport returns a transport that uses no proxy. config is that of TLS; nil: the defaults.
func newTransport(config *tls.Config) *http.Transport {
	return &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true}
}

// secret returns the value of a credential that the configuration key refers to. An error is not
// final: the caller tries again later.
func (env *Environment) secret(ctx context.Context, key string, s config.Secret) (string, error) {
	value, err := s.Resolve(ctx, env.Secrets)
	if err != nil {
		return "", fmt.Errorf("the key %s: %w", key, err)
	}
	return value, nil
}

// explainCertificate adds the remedy to the error that a server has a certificate that this machine does not trust.
func explainCertificate(err error) error {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("the certificate of the server is not trusted: %w; add its certificate authority to those of this machine, or name its file in SSL_CERT_FILE before the controller starts", err)
	}
	return err
}

// final returns an error after which no other try makes sense.
func final(format string, args ...any) error {
	return &SendError{Err: fmt.Errorf(format, args...), Final: true}
}
