package workerrun

import (
	"slices"

	"gascity/worker"
)

// maxText is how many bytes of a text that a worker reports are remembered.
const maxText = 256

func clip(text string) string { return text[:min(len(text), maxText)] }

// clipped returns a report with its texts cut to what is remembered of them.
func clipped(r worker.Lifecycle) worker.Lifecycle {
	m := &r.Metadata
	for _, text := range []*string{&r.SessionID, &m.Signal, &m.Reason, &m.PromptID, &m.ConversationID, &m.Agent, &m.Version} {
		*text = clip(*text)
	}
	m.Offers = slices.Clone(m.Offers[:min(len(m.Offers), maxOffers)])
	for i := range m.Offers {
		m.Offers[i] = clip(m.Offers[i])
	}
	return r
}

const maxOffers = 16
