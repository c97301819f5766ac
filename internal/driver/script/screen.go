package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"gascity/runtime"
)

// Screen is what the operation screen prints: one line of JSON with these facts, then the rows,
// with their styles as terminal sequences if Styles says so.
type Screen struct {
	Cols   int  `json:"cols"`
	Rows   int  `json:"rows"`
	X      int  `json:"x"` // of the cursor, from 0
	Y      int  `json:"y"`
	Styles bool `json:"styles"`

	// Instance is the session's token and Agent whether its agent lives, if the script says.
	Instance string           `json:"instance"`
	Agent    runtime.Liveness `json:"agent"`

	Cells []byte `json:"-"` // the rows
}

// maxSide bounds a screen.
const maxSide = 1000

// ParseScreen reads what screen prints.
func ParseScreen(out []byte) (Screen, error) {
	head, cells, _ := bytes.Cut(out, []byte("\n"))
	var s Screen
	if err := json.Unmarshal(head, &s); err != nil {
		return Screen{}, fmt.Errorf("the first line is not a screen: %w", err)
	}
	if s.Cols < 1 || s.Rows < 1 || s.Cols > maxSide || s.Rows > maxSide || s.X < 0 || s.X > s.Cols || s.Y < 0 || s.Y >= s.Rows {
		return Screen{}, errors.New("the screen has no size, or a cursor outside of it")
	}
	s.Cells = cells
	return s, nil
}
