package runtime

import (
	"fmt"
	"time"
)

const beaconTime = "2006-01-02T15:04:05"

// FormatBeacon returns the line that identifies a session in an agent's resume picker, with the
// current local time. With includePrimeInstruction, for agents without hooks, an instruction
// follows after a blank line.
func FormatBeacon(cityName, agentName string, includePrimeInstruction bool) string {
	return FormatBeaconAt(cityName, agentName, includePrimeInstruction, time.Now())
}

// FormatBeaconAt returns the line of [FormatBeacon] for the time t, in t's own location and without
// a zone: "[city-name] agent-name • 2026-03-01T15:04:05".
func FormatBeaconAt(cityName, agentName string, includePrimeInstruction bool, t time.Time) string {
	beacon := fmt.Sprintf("[%s] %s • %s", cityName, agentName, t.Format(beaconTime))
	if includePrimeInstruction {
		beacon += "\n\nRun `gc prime $GC_AGENT` to initialize your context."
	}
	return beacon
}
