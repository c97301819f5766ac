package workerrun

import (
	"slices"

	"gascity/worker"
)

// maxText is the maximum stored length, in bytes, of a text that a worker reports.
const maxText = 256

// clip returns the first maxText bytes of text.
func clip(text string) string { return text[:min(len(text), maxText)] }

// clipped returns the report with each text cut to maxText bytes and the offers to maxOffers
// entries.
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

// maxOffers is the maximum number of stored offers of one report.
const maxOffers = 16
