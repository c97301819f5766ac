package agentcli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	optionLine = regexp.MustCompile(`^\s*--?[A-Za-z]`)
	choiceList = regexp.MustCompile(`(?i)[(\[](?:choices|possible values):\s*([^)\]]*)[)\]]`)
	choiceItem = regexp.MustCompile(`(?m)^\s*- ([A-Za-z0-9_.-]+)(?::|\s*$)`)
	choiceWord = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
)

// HelpChoices returns the values that a help text lists for an option. It returns nil if the help
// text does not have the option, or lists its values in a form that gc does not know.
func HelpChoices(help, flag string) []string {
	block, in := "", false
	for line := range strings.Lines(help) {
		if optionLine.MatchString(line) {
			in = namesOption(line, flag)
		}
		if in {
			block += line
		}
	}
	var choices []string
	if list := choiceList.FindStringSubmatch(block); list != nil {
		for word := range strings.SplitSeq(list[1], ",") {
			word = strings.Trim(strings.TrimSpace(word), `"'`)
			if !choiceWord.MatchString(word) {
				return nil
			}
			choices = append(choices, word)
		}
		return choices
	}
	if strings.Contains(strings.ToLower(block), "possible values:") {
		for _, item := range choiceItem.FindAllStringSubmatch(block, -1) {
			choices = append(choices, item[1])
		}
	}
	return choices
}

// namesOption reports whether a line of a help text begins the description of the option flag.
func namesOption(line, flag string) bool {
	for word := range strings.FieldsSeq(line) {
		if !strings.HasPrefix(word, "-") {
			return false
		}
		word, _, _ = strings.Cut(strings.TrimSuffix(word, ","), "=")
		if word == flag {
			return true
		}
	}
	return false
}

// RefusedMode compares the arguments of a permission mode with the help text of the installed agent
// CLI. If the help text does not list a value that the mode uses, it returns why the agent CLI does
// not accept the mode and what to write instead. Otherwise both results are empty.
func (p Profile) RefusedMode(mode, help string) (why, proposal string) {
	if mode == "" {
		mode = p.PermissionMode
	}
	flag, value, choices := p.refusedArgument(mode, help)
	if flag == "" {
		return "", ""
	}
	accepted := slices.DeleteFunc(sortedKeys(p.PermissionModes), func(name string) bool {
		refused, _, _ := p.refusedArgument(name, help)
		return refused != ""
	})
	why = fmt.Sprintf("does not accept %s %s, the arguments of permission_mode = %q; it accepts: %s", flag, value, mode, strings.Join(choices, ", "))
	return why, "set permission_mode to a mode that this version accepts" + hint(mode, accepted)
}

// refusedArgument returns the first option of a permission mode whose value is not in the help
// text, and the values that the help text lists for it. If there is none, flag is empty.
func (p Profile) refusedArgument(mode, help string) (flag, value string, choices []string) {
	args := p.PermissionModes[mode]
	for i := 0; i+1 < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") || strings.HasPrefix(args[i+1], "-") {
			continue
		}
		choices := HelpChoices(help, args[i])
		if len(choices) > 0 && !slices.Contains(choices, args[i+1]) && !slices.Contains(p.UnlistedModes, args[i+1]) {
			return args[i], args[i+1], choices
		}
	}
	return "", "", nil
}
