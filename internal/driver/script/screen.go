package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"gascity/runtime"
)

// Screen is the output of the operation screen: one line of JSON with these fields, then the rows. If Styles is true, the rows
// contain terminal sequences for styles.
type Screen struct {
	Cols   int  `json:"cols"`
	Rows   int  `json:"rows"`
	X      int  `json:"x"` // column of the cursor, from 0
	Y      int  `json:"y"`
	Styles bool `json:"styles"`

	// Instance is the session's token and Agent whether its agent runs. Both are empty if the script does not report them.
	Instance string           `json:"instance"`
	Agent    runtime.Liveness `json:"agent"`

	Cells []byte `json:"-"` // the rows
}

// maxSide is the largest number of rows or columns of a screen.
const maxSide = 1000

// ParseScreen parses the output of the operation screen.
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
