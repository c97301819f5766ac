package client

// Which selects the entries of a listing. The zero value selects open entries.
type Which string

// The choices.
const (
	OnlyOpen  Which = ""
	WithEnded Which = "ended" // also entries that ended recently
)
