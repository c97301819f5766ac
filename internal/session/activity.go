package session

import (
	"time"

	"gascity/runtime"
)

// Confidence is how sure an activity is.
type Confidence string

// The confidences.
const (
	Certain Confidence = "certain" // the program or its vendor's own channel says so
	Likely  Confidence = "likely"  // a sign that the vendor means for programs
	Guess   Confidence = "guess"   // concluded from what is drawn, or from processes
)

// Activity is what an agent is doing, as concluded from all evidence.
type Activity struct {
	State      runtime.Activity
	Kind       string    // of waiting
	Until      time.Time // of limited
	Source     runtime.Source
	Since      time.Time
	Confidence Confidence
	Detail     string
}
