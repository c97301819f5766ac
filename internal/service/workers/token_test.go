package workers_test

import "gascity/internal/domain/session"

// credentials are what the agent of an instance receives.
type credentials struct{ token, run string }

func runtimeEnv(instance string) credentials {
	return credentials{session.WorkerToken(instance, 0), session.RunID(instance)}
}
