package questions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// maxAnswer is how many bytes of a text answer are stored.
const maxAnswer = 200

// reply is an answer in the form for the driver (response) and in the form that is stored and shown
// (shown).
type reply struct {
	response runtime.InteractionResponse
	shown    string
}

// choose returns the reply to the question p that a request asks for. If the request names no
// option of the question, it returns client.ErrInvalid with the list of options.
func choose(p session.Pending, req client.RespondRequest) (reply, error) {
	r := reply{response: runtime.InteractionResponse{RequestID: p.Request, Action: runtime.ActionChoose}}
	switch {
	case (req.Option == "") == (req.Text == ""):
		return reply{}, fmt.Errorf("%w: answer %s either with an option or with a text", client.ErrInvalid, p.ID)
	case p.NoText && len(p.Options) == 0:
		return reply{}, fmt.Errorf("%w: %s can only be answered in the agent's terminal: gc attach %s", client.ErrInvalid, p.ID, p.Agent)
	case p.NoText && req.Text != "":
		return reply{}, fmt.Errorf("%w: %s does not accept free text; choose one of its options: %s", client.ErrInvalid, p.ID, everyOption(p.Options))
	case req.Text != "":
		r.response.Action, r.response.Text, r.shown = runtime.ActionText, req.Text, textfmt.Truncate(req.Text, maxAnswer)
		if p.Kind == runtime.WaitLogin {
			r.shown = "(words)" // the text may be a secret
		}
		return r, nil
	case len(p.Options) == 0:
		return reply{}, fmt.Errorf("%w: %s has no options; answer with a text: gc respond --text TEXT %s", client.ErrInvalid, p.ID, p.ID)
	}
	i, err := find(p, req.Option)
	if err != nil {
		return reply{}, err
	}
	r.response.Text, r.shown = p.Options[i], p.Options[i]
	if first := slices.Index(p.Options, p.Options[i]); first != i || slices.Contains(p.Options[i+1:], p.Options[i]) {
		r.response.Text = strconv.Itoa(i + 1) // another option has the same label
	}
	return r, nil
}

// find returns the index of the option that the text meant names. It tries the exact label, the
// number from 1, the label in any letter case, and the beginning of the label, in this order. The
// first way that matches any option decides; if it matches several, find returns an error.
func find(p session.Pending, meant string) (int, error) {
	wanted := strings.ToLower(strings.TrimSpace(meant))
	number, notNumber := strconv.Atoi(wanted)
	for _, fits := range []func(i int, label string) bool{
		func(_ int, label string) bool { return label == meant },
		func(i int, _ string) bool { return notNumber == nil && number == i+1 },
		func(_ int, label string) bool { return strings.ToLower(strings.TrimSpace(label)) == wanted },
		func(_ int, label string) bool {
			return wanted != "" && strings.HasPrefix(strings.ToLower(strings.TrimSpace(label)), wanted)
		},
	} {
		var hits []int
		for i, label := range p.Options {
			if fits(i, label) {
				hits = append(hits, i)
			}
		}
		switch {
		case len(hits) == 1:
			return hits[0], nil
		case len(hits) > 1:
			return 0, fmt.Errorf("%w: %q is more than one option of %s: %s", client.ErrInvalid, meant, p.ID, listed(p.Options, hits))
		}
	}
	return 0, fmt.Errorf("%w: %q is not an option of %s: %s", client.ErrInvalid, meant, p.ID, everyOption(p.Options))
}

// everyOption returns all options with their numbers as one line for people.
func everyOption(options []string) string {
	every := make([]int, len(options))
	for i := range every {
		every[i] = i
	}
	return listed(options, every)
}

// listed returns the options with the indexes in which as one line for people. The numbers are
// those among all options.
func listed(options []string, which []int) string {
	var b strings.Builder
	for n, i := range which {
		if n > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d %q", i+1, options[i])
	}
	return b.String()
}
