package session

import (
	"slices"

	"gascity/worker"
)

// maxReportText is the maximum stored length, in bytes, of a text that a worker reports.
const maxReportText = 256

// clipText returns at most the first [maxReportText] bytes of text.
func clipText(text string) string { return text[:min(len(text), maxReportText)] }

// clipReport returns the report with each text cut to [maxReportText] bytes and the list of offers
// cut to [maxOffers] entries.
func clipReport(r worker.Lifecycle) worker.Lifecycle {
	m := &r.Metadata
	for _, text := range []*string{&r.SessionID, &m.Signal, &m.Reason, &m.PromptID, &m.ConversationID, &m.Agent, &m.Version} {
		*text = clipText(*text)
	}
	m.Offers = slices.Clone(m.Offers[:min(len(m.Offers), maxOffers)])
	for i := range m.Offers {
		m.Offers[i] = clipText(m.Offers[i])
	}
	return r
}

// maxOffers is the maximum number of stored offers of one report.
const maxOffers = 16
