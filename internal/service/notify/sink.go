package notify

import (
	"context"
	"crypto/tls"
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
	// TLS configures connections to mail servers and web services; nil: the defaults.
	TLS *tls.Config
}

// NewSink returns the sink of a [[notify]] section that was checked by package config.
func NewSink(n *config.Notify, env Environment) Sink {
	return Sink{Name: n.Name, Type: string(n.Type), Timeout: n.Timeout, Sender: newSender(n, env), Buttons: maxButtons(n)}
}

// The largest numbers of answer buttons of a message.
const (
	maxNtfyButtons     = 3 // a limit of ntfy
	maxTelegramButtons = 8
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
func newHTTPClient(config *tls.Config) *http.Client {
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
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

// final returns an error that ends the delivery: the message is not tried again.
func final(format string, args ...any) error {
	return &SendError{Err: fmt.Errorf(format, args...), Final: true}
}
