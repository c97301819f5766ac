package agentcli

import (
	"slices"
	"strings"
	"testing"
)

// The descriptions of options as claude 2.1.329, codex 0.169.0 and gemini 0.61.0 print them.
const (
	helpOfClaude = `  -p, --print                           Print response and exit
  --permission-mode <mode>              Permission mode to use for the session
                                        (choices: "acceptEdits", "auto",
                                        "bypassPermissions", "manual",
                                        "dontAsk", "plan")
  --permission-prompts <target>         Who answers permission prompts with
                                        --print: "host" (the SDK host) or "none"
`
	helpOfCodex = `  -s, --sandbox <SANDBOX_MODE>
          Select the sandbox policy to use when executing model-generated shell commands
          
          [possible values: read-only, workspace-write, danger-full-access]

  -a, --ask-for-approval <APPROVAL_POLICY>
          Configure when the model requires human approval before executing a command

          Possible values:
          - on-request: The model decides when to ask the user for approval
          - never:      Never ask for user approval Execution failures are immediately returned to
            the model

      --search
          Enable live web search
`
	helpOfGemini = `  -y, --yolo                      Automatically accept all actions?  [boolean] [default: false]
      --approval-mode             Set the approval mode: default (prompt for approval), yolo (all)  [string] [choices: "default", "auto_edit", "yolo", "plan"]
      --policy                    Additional policy files  [array]
`
)

// TestHelpChoices checks that the values of an option are read from the help texts of the agent
// CLIs, and that there are none if a help text does not list them.
func TestHelpChoices(t *testing.T) {
	for _, test := range []struct{ help, flag, want string }{
		{helpOfClaude, "--permission-mode", "acceptEdits auto bypassPermissions manual dontAsk plan"},
		{helpOfCodex, "--sandbox", "read-only workspace-write danger-full-access"},
		{helpOfCodex, "-s", "read-only workspace-write danger-full-access"},
		{helpOfCodex, "--ask-for-approval", "on-request never"},
		{helpOfGemini, "--approval-mode", "default auto_edit yolo plan"},
		{helpOfGemini, "--policy", ""},
		{helpOfGemini, "--approval", ""},
		{helpOfClaude, "--print", ""},
		{`  --mode <m>  (choices: "a b", "c")`, "--mode", ""},
		{`  --mode <m>  (choices: "a", "b`, "--mode", ""},
		{"", "--mode", ""},
		{strings.Repeat("(choices: ", 1000), "--mode", ""},
	} {
		if got := strings.Join(HelpChoices(test.help, test.flag), " "); got != test.want {
			t.Errorf("the values of %s are %q, want %q", test.flag, got, test.want)
		}
	}
}

// TestModesSuitTheMeasuredVersions checks that the help texts of the tested versions accept every
// permission mode of the profiles.
func TestModesSuitTheMeasuredVersions(t *testing.T) {
	for name, help := range map[string]string{"claude": helpOfClaude, "codex": helpOfCodex, "gemini": helpOfGemini} {
		p, _ := Builtin().Lookup(name)
		for mode := range p.PermissionModes {
			if why, _ := p.RefusedMode(mode, help); why != "" {
				t.Errorf("%s %s", name, why)
			}
		}
	}
}

// TestRefusedModeHasAProposal checks that a mode that the installed version does not list is
// reported with the listed modes and the most similar one, and that no mode is reported if the help
// text lists none.
func TestRefusedModeHasAProposal(t *testing.T) {
	p, _ := Builtin().Lookup("claude")
	p.PermissionModes["plans"] = []string{"--permission-mode", "plans"}
	why, proposal := p.RefusedMode("plans", helpOfClaude)
	if !strings.Contains(why, "--permission-mode plans") || !strings.Contains(why, "acceptEdits, auto") || !strings.Contains(proposal, `did you mean "plan"?`) || strings.Contains(proposal, "plans") {
		t.Errorf("it is reported as %q, %q", why, proposal)
	}
	for _, help := range []string{"", "usage: claude", strings.ReplaceAll(helpOfClaude, "choices", "see")} {
		if why, _ := p.RefusedMode("plans", help); why != "" {
			t.Errorf("by %.40q it is refused: %s", help, why)
		}
	}
	if !slices.Contains(p.UnlistedModes, "default") {
		t.Errorf("the unlisted modes of claude are %q", p.UnlistedModes)
	}
}
