package agentcli

// DialogKind is what a dialog of an agent CLI is about.
type DialogKind string

// The kinds.
const (
	DialogTrust   DialogKind = "trust"   // whether the folder is trusted
	DialogBypass  DialogKind = "bypass"  // whether running without permission questions is accepted
	DialogAPIKey  DialogKind = "api-key" // whether to use a key from the environment
	DialogAuth    DialogKind = "auth"    // how to authenticate
	DialogUpdate  DialogKind = "update"
	DialogTheme   DialogKind = "theme"
	DialogResume  DialogKind = "resume"  // how to resume a conversation
	DialogMCP     DialogKind = "mcp"     // whether a new MCP server is trusted
	DialogHooks   DialogKind = "hooks"   // whether hooks are trusted
	DialogImports DialogKind = "imports" // whether instruction files outside the folder are trusted
	DialogModel   DialogKind = "model"   // whether to use another model
	DialogLimit   DialogKind = "limit"   // a usage limit is reached
	DialogLogin   DialogKind = "login"
	DialogNotice  DialogKind = "notice"     // a text that only waits for Enter
	DialogTool    DialogKind = "permission" // whether a tool may run
	// DialogUnknown is a menu that no rule describes.
	DialogUnknown DialogKind = "unknown-menu"
)

// Policy says how gc answers a dialog.
type Policy string

// The policies. If a rule has no labels for the policy, gc sends no keys, and the dialog becomes a
// question for a person.
const (
	PolicyAccept  Policy = "accept"
	PolicyDecline Policy = "decline"
	// PolicyApprove and PolicyDeny are never configured. gc uses them to enter a person's approval
	// (once, not permanent) or refusal. If a rule has no labels for them, the labels of accept or
	// decline are used, except for [DialogTool].
	PolicyApprove Policy = "approve"
	PolicyDeny    Policy = "deny"
)

// Dialog is a rule for one dialog of an agent CLI: how to recognize it on the screen, and which of
// its options to choose. gc reads the options and the highlighted row from the screen each time.
type Dialog struct {
	ID   string     `toml:"id"` // unique in the profile: "trust-2.1"
	Kind DialogKind `toml:"kind"`
	// Match are texts that must all be on the screen. White space is compressed before the
	// comparison.
	Match []string `toml:"match"`
	// Glyphs mark the highlighted row ("❯"); at least one.
	Glyphs []string `toml:"glyphs"`
	// Numbered: each option begins with its number ("1. Yes").
	Numbered bool `toml:"numbered"`
	// Want are the labels to choose for each policy; the first label on the screen is chosen. A
	// label is compared as a whole, without its number, letter case, trailing parentheses and check
	// mark.
	Want map[Policy][]string `toml:"want"`
	// Field makes the dialog a form. It matches the row of the form's field when the field contains
	// text; reports never contain that text. The dialog's only option is then [Dialog.FormOption],
	// and it has no option while no row matches. Remedy describes how to fill the field. For a
	// [DialogNotice], Field matches the row that asks for Enter.
	Field  Pattern `toml:"field" json:",omitzero"`
	Remedy string  `toml:"remedy"`
	// Again means that the confirming key may be sent again if the program dropped it, because the
	// screen after the dialog handles that key correctly too.
	Again bool `toml:"again"`
	// Footer is a text that must be below the options; empty: none.
	Footer string `toml:"footer"`
	// Cancel is the key that closes the dialog without an answer and without harm; empty if no such
	// key is known.
	Cancel string `toml:"cancel"`
	// Tool and Input match rows above the options that show which tool wants to run and with which
	// input: their first group, or the whole match. If no row matches Input, the input is the text
	// between the row of Tool and the row of Match's first text.
	Tool  Pattern `toml:"tool" json:",omitzero"`
	Input Pattern `toml:"input" json:",omitzero"`
}

// The options of forms.
const (
	Submit   = "submit"   // the option of a form whose field is filled
	Continue = "continue" // the option of a notice
)

// FormOption returns the only option of a dialog that has a field instead of options.
func (d Dialog) FormOption() string {
	if d.Kind == DialogNotice {
		return Continue
	}
	return Submit
}

// IsForm reports whether the dialog has a field instead of options.
func (d Dialog) IsForm() bool { return d.Field.String() != "" }
