package textfmt

import "strings"

// internalTerms are words of this program's inside that reach people in texts of others,
// and what they mean.
func internalTerms() []string {
	return []string{
		"human_typing", "a person was typing",
		"draft_present", "a person's text is in its input box",
		"dialog_up", "a dialog is up",
		"not_ready", "its input box is not there yet",
		"input_blocked", "its input box is blocked",
		"unknown-menu", "menu of an unknown kind",
	}
}

// ReplaceInternalTerms says in words what a text says in names of this program's inside.
func ReplaceInternalTerms(words string) string {
	return strings.NewReplacer(internalTerms()...).Replace(words)
}
