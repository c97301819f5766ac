package agentcli

import "gascity/worker"

// CityClient returns a client for the worker API of the city that started the agent; nil if no city did. getenv returns a
// variable of the agent's environment.
func CityClient(getenv func(string) string) *worker.Client {
	c := &worker.Client{Socket: getenv("GC_WORKER_SOCKET"), URL: getenv("GC_WORKER_URL"), Token: getenv("GC_WORKER_TOKEN"), RunID: getenv("GC_RUN_ID")}
	if c.Socket != "" {
		c.URL = ""
	}
	if c.Socket+c.URL == "" || c.Token == "" || c.RunID == "" {
		return nil
	}
	return c
}
