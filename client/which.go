package client

// Which says what a listing holds. The zero value is what is open.
type Which string

// The choices.
const (
	OnlyOpen  Which = ""
	WithEnded Which = "ended" // the recent ends too
)
