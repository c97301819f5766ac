package workers_test

import "gascity/internal/domain/workerrun"

// credentials are what the agent of an instance receives.
type credentials struct{ token, run string }

func runtimeEnv(instance string) credentials {
	return credentials{workerrun.Token(instance, 0), workerrun.ID(instance)}
}
