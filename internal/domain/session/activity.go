package session

import (
	"time"

	"gascity/runtime"
)

// Confidence is how sure an activity is.
type Confidence string

// The confidences.
const (
	ConfidenceCertain Confidence = "certain" // the program or its model provider's own channel says so
	ConfidenceLikely  Confidence = "likely"  // a sign that the model provider means for programs
	ConfidenceGuess   Confidence = "guess"   // concluded from what is drawn, or from processes
)

// Activity is what an agent is doing, as concluded from all evidence.
type Activity struct {
	State      runtime.Activity
	Kind       string    // of waiting
	Until      time.Time // of limited; zero if the end is not known
	Source     runtime.Source
	Since      time.Time
	Confidence Confidence
	Detail     string
	// Obstacle is what keeps the agent from making progress, see [Obstacle.Kind].
	Obstacle Obstacle
	// Doubted says that the activity of the agent could not be read for too
	// long: the state is unknown, and it may be in the midst of a turn.
	Doubted bool
}

// Rules bound how long evidence is relied on. A zero value means the default
// that stands beside it.
type Rules struct {
	// HealAfter is how long evidence of lower trust must have contradicted what a
	// source of higher trust says before it is believed instead: the edge was
	// missed. 10 s.
	HealAfter time.Duration
	// Stale is how old a reading may be. Longer than the time between two regular
	// readings; 2 min.
	Stale time.Duration
	// Doubt is how long what was read is relied on while reads fail, or while the
	// agent has written and was not read since; what is certain, six times as
	// long. 10 s.
	Doubt time.Duration
	// StalePushed is the same for evidence that is pushed and not read, see
	// [EvidenceSet.Push]; 6 h.
	StalePushed time.Duration
	// StaleOf overrides both for a source.
	StaleOf map[runtime.Source]time.Duration
}

const (
	defaultHealAfter   = 10 * time.Second
	defaultDoubt       = 10 * time.Second
	defaultStale       = 2 * time.Minute
	defaultStalePushed = 6 * time.Hour
)

// grade is what a source is worth.
type grade struct {
	source     runtime.Source
	confidence Confidence
}

// grades are the sources, the most trusted first.
var grades = []grade{
	{runtime.SourceWorker, ConfidenceCertain},
	{runtime.SourceACP, ConfidenceCertain},
	{runtime.SourceStatus, ConfidenceCertain},
	{runtime.SourceHook, ConfidenceCertain},
	{runtime.SourceStatusFile, ConfidenceLikely},
	{runtime.SourceTranscript, ConfidenceLikely},
	{runtime.SourceProgress, ConfidenceLikely},
	{runtime.SourceMark, ConfidenceLikely},
	{runtime.SourceScreen, ConfidenceGuess},
	{runtime.SourceProcess, ConfidenceGuess},
}

// trust returns a source's rank, the lower the more trusted, and its confidence.
// A source that is not known is the last.
func trust(source runtime.Source) (rank int, confidence Confidence) {
	for i := range grades {
		if grades[i].source == source {
			return i, grades[i].confidence
		}
	}
	return len(grades), ConfidenceGuess
}
