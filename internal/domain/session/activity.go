package session

import (
	"time"

	"gascity/runtime"
)

// Confidence is how certain an activity is.
type Confidence string

// The confidences.
const (
	ConfidenceCertain Confidence = "certain" // reported by the program or its model provider's own channel
	ConfidenceLikely  Confidence = "likely"  // from a signal that is meant for programs
	ConfidenceGuess   Confidence = "guess"   // guessed from the screen or from processes
)

// Activity is an agent's activity according to all evidence.
type Activity struct {
	State      runtime.Activity
	Kind       string    // of waiting
	Until      time.Time // of limited; zero if the end is not known
	Source     runtime.Source
	Since      time.Time
	Confidence Confidence
	Detail     string
	// Obstacle is what prevents the agent from making progress, see [Obstacle.Kind].
	Obstacle Obstacle
	// Doubted is true if the activity could not be read for too long. The state is then unknown,
	// and the agent may be in a turn.
	Doubted bool
}

// Rules limit how long evidence is used. A zero value means the default that is given for the
// field.
type Rules struct {
	// Stale is the maximum age of a reading. It must be longer than the time between two regular
	// readings. Default 2 min.
	Stale time.Duration
	// StalePushed is the maximum age of pushed evidence, see [EvidenceSet.Push]. Default 6 h.
	StalePushed time.Duration
}

const (
	// healAfter is how long evidence of lower trust must contradict a source of higher trust
	// before it is used instead, because that source probably missed a change.
	healAfter = 10 * time.Second
	// doubtAfter is how long a reading is used while newer reads fail, or after the agent wrote output
	// that was not read yet. Evidence with the confidence certain is used six times as long.
	doubtAfter = 10 * time.Second

	defaultStale       = 2 * time.Minute
	defaultStalePushed = 6 * time.Hour
)

// grade is the confidence of a source.
type grade struct {
	source     runtime.Source
	confidence Confidence
}

// grades lists the sources, the most trusted first.
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

// trust returns how much a source is trusted: its rank, where a lower rank means more trust, and
// its confidence. An unknown source has the last rank.
func trust(source runtime.Source) (rank int, confidence Confidence) {
	for i := range grades {
		if grades[i].source == source {
			return i, grades[i].confidence
		}
	}
	return len(grades), ConfidenceGuess
}
