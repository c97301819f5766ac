package textfmt

import "strings"

// internalTerms replaces internal identifiers by their meaning. These identifiers are in texts that are shown to people.
var internalTerms = strings.NewReplacer(
	"human_typing", "a person was typing",
	"draft_present", "a person's text is in its input box",
	"dialog_up", "a dialog is on the screen",
	"not_ready", "it accepts no input yet",
	"input_blocked", "its input box is blocked",
	"unknown-menu", "menu of an unknown kind",
)

// ReplaceInternalTerms returns the text with internal identifiers replaced by their meaning.
func ReplaceInternalTerms(words string) string { return internalTerms.Replace(words) }
