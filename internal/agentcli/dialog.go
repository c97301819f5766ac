package agentcli

// DialogKind is what a dialog is about.
type DialogKind string

// The kinds.
const (
	DialogTrust   DialogKind = "trust"   // is this folder trusted
	DialogBypass  DialogKind = "bypass"  // is running without permissions accepted
	DialogAPIKey  DialogKind = "api-key" // is a key from the environment to be used
	DialogAuth    DialogKind = "auth"    // how to authenticate
	DialogUpdate  DialogKind = "update"
	DialogTheme   DialogKind = "theme"
	DialogResume  DialogKind = "resume"  // in what form to resume a conversation
	DialogMCP     DialogKind = "mcp"     // is a new MCP server trusted
	DialogHooks   DialogKind = "hooks"   // are hooks trusted
	DialogImports DialogKind = "imports" // are instruction files outside the folder trusted
	DialogModel   DialogKind = "model"   // is another model to be used
	DialogLimit   DialogKind = "limit"   // a usage limit is reached
	DialogLogin   DialogKind = "login"
	DialogNotice  DialogKind = "notice"     // a text that only waits for Enter
	DialogTool    DialogKind = "permission" // may a tool run
	// DialogUnknown is a menu that no rule describes.
	DialogUnknown DialogKind = "unknown-menu"
)

// Policy names one of the ways to answer a dialog.
type Policy string

// The policies. A dialog whose rule has no labels for the policy in force gets
// no keys and becomes a pending question.
const (
	PolicyAccept  Policy = "accept"
	PolicyDecline Policy = "decline"
	// PolicyApprove and PolicyDeny are never in force: they are how somebody's
	// approval (once, never for ever) or refusal is given. Where a rule has none,
	// the labels to accept or decline are taken, but not for [DialogTool].
	PolicyApprove Policy = "approve"
	PolicyDeny    Policy = "deny"
)

// Dialog describes one dialog of an agent CLI. The options and the highlighted
// row are always read from the screen; a rule only says which label to move to.
type Dialog struct {
	ID   string     `toml:"id"` // unique in the profile: "trust-2.1"
	Kind DialogKind `toml:"kind"`
	// Since and Before bound the agent CLI's versions: Since <= v < Before.
	// Empty is unbounded; an unknown version is within every range.
	Since  string `toml:"since"`
	Before string `toml:"before"`
	// Match are texts that all stand on the screen, white space folded.
	Match []string `toml:"match"`
	// Glyphs mark the highlighted row ("❯"); at least one.
	Glyphs []string `toml:"glyphs"`
	// Numbered: each option begins with its number ("1. Yes").
	Numbered bool `toml:"numbered"`
	// Want are the labels to choose for each policy, first one present wins. A
	// label is compared as a whole, without its number, letter case, trailing
	// parentheses and check mark.
	Want map[Policy][]string `toml:"want"`
	// Field makes the dialog a form: it matches the row of its field when there is
	// something in it, which no report repeats. Its one option is [Dialog.FormOption], and
	// without that row it has none. Remedy says what fills it. Of a [DialogNotice] it
	// matches the row that asks for Enter.
	Field  Pattern `toml:"field"`
	Remedy string  `toml:"remedy"`
	// Again: what comes behind the dialog takes the confirming key rightly, too, so that it
	// may be pressed again if the program has dropped it.
	Again bool `toml:"again"`
	// Footer is a text below the options that must be there; empty: none.
	Footer string `toml:"footer"`
	// Cancel is the key that leaves the dialog without an answer and does no
	// harm; empty if none is known to.
	Cancel string `toml:"cancel"`
	// Tool and Input match rows above the options that name what is to run and
	// with which input: their first group, or the whole match. Where Input is on no
	// row, it is what stands between the rows of Tool and of Match's first text.
	Tool  Pattern `toml:"tool"`
	Input Pattern `toml:"input"`
}

// The options of forms.
const (
	Submit   = "submit"   // of a form that is filled in
	Continue = "continue" // of a notice
)

// FormOption returns the one option of a dialog that has a field in place of options.
func (d Dialog) FormOption() string {
	if d.Kind == DialogNotice {
		return Continue
	}
	return Submit
}

// IsForm reports whether the dialog has a field in place of options.
func (d Dialog) IsForm() bool { return d.Field.String() != "" }

// In reports whether the rule holds for the given version of the agent CLI.
func (d Dialog) In(version string) bool {
	if version == "" {
		return true
	}
	return (d.Since == "" || compareVersions(version, d.Since) >= 0) &&
		(d.Before == "" || compareVersions(version, d.Before) < 0)
}
