package exchange_test

import "gascity/internal/run"

// credentials are what the agent of an instance receives.
type credentials struct{ token, run string }

func runtimeEnv(instance string) credentials {
	return credentials{run.Token(instance, 0), run.ID(instance)}
}
