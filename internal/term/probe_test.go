package term_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"gascity/internal/term"
)

func TestProbe(t *testing.T) {
	if os.Getenv("PROBE") == "" {
		t.Skip()
	}
	o := startOracle(t, 20, 6)
	in, _ := strconv.Unquote(`"` + os.Getenv("PROBE") + `"`)
	o.write(append([]byte(startOver), in...))
	s := term.New(20, 6, nil)
	s.Write([]byte(startOver))
	s.Write([]byte(in))
	for n, p := range map[string]picture{"tmux": o.picture(20), "ours": pictureOf(s)} {
		fmt.Println(n, p.State, p.History)
		for _, r := range p.Cells {
			fmt.Printf("%q\n", rowString(r))
		}
	}
}
