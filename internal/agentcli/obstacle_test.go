package agentcli_test

import (
	"testing"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// TestErrorKind checks the kind of obstacle for error texts of real agent CLIs and their libraries,
// and for texts that only look like an HTTP status.
func TestErrorKind(t *testing.T) {
	for text, want := range map[string]string{
		"Please run /login · API Error: 403 mock forbidden":                   runtime.ObstacleLogin,
		"authentication_failed":                                               runtime.ObstacleLogin,
		"unexpected status 401 Unauthorized: invalid x-api-key, url: http":    runtime.ObstacleLogin,
		`403: {"message":"mock forbidden","type":"permission_error"}`:         runtime.ObstacleLogin,
		"You exceeded your current quota, please check your plan and billing": runtime.ObstacleLimit,
		"You've hit your usage limit. Try again later.":                       runtime.ObstacleLimit,
		"Connection error.": runtime.ObstacleNoNetwork,
		"Failed to connect to api.anthropic.com: ENOTFOUND":            runtime.ObstacleNoNetwork,
		"stream disconnected before completion: error sending request": runtime.ObstacleNoNetwork,
		"Cannot connect to API: The socket connection was closed":      runtime.ObstacleNoNetwork,
		"429 mock rate_limit_error":                                    runtime.ObstacleError,
		"exceeded retry limit, last status: 429 Too Many Requests":     runtime.ObstacleError,
		"API Error: 500 the file has 403 lines":                        runtime.ObstacleError,
		"":                                                             runtime.ObstacleError,
	} {
		if got := agentcli.ErrorKind(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
