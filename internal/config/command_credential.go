package config

import (
	"regexp"
	"strings"

	"gascity/runtime"
)

var (
	// commandAddress matches an address in a shell command.
	commandAddress = regexp.MustCompile("[A-Za-z][A-Za-z0-9+.-]*://[^\\s\"'`<>|)]+")
	// commandName matches a name, what separates it from its value, and the value: a variable, an option or a header.
	commandName = regexp.MustCompile(`([A-Za-z0-9_-]+)(=|:\s*|\s+)("[^"]*"|'[^']*'|[^\s"']+)`)
	// commandLogin matches what signs in without a name: a header with a scheme, and the option for a user and a password.
	commandLogin = regexp.MustCompile(`(?i)(?:\b(?:bearer|basic)\s+|\s(?:-u|--user)[=\s]*["']?[^\s"':]+:)([^\s"']+)`)
	// commandReference matches a variable or a command in a value.
	commandReference = regexp.MustCompile("\\$[A-Za-z_][A-Za-z0-9_]*|\\$\\{[^}]*\\}|\\$\\([^)]*\\)|`[^`]*`")
	// commandScheme matches what may be before a credential in a header.
	commandScheme = regexp.MustCompile(`(?i)^\s*(?:bearer|basic|token|key)\b`)
)

// CommandCredentials returns the parts of a shell command that may be credentials: addresses such as that of a webhook, the values
// of variables, options and headers with the name of a credential, and passwords of a login. A reference such as $TOKEN is none.
func CommandCredentials(command string) []string {
	var found []string
	for _, address := range commandAddress.FindAllString(command, -1) {
		if address = strings.TrimRight(address, ";&,"); mayHoldCredential(address) {
			found = append(found, address)
		}
	}
	for from := 0; ; {
		m := commandName.FindStringSubmatchIndex(command[from:])
		if m == nil {
			break
		}
		name, separator, value := command[from+m[2]:from+m[3]], command[from+m[4]:from+m[5]], command[from+m[6]:from+m[7]]
		switch {
		case !runtime.CredentialName(strings.TrimLeft(name, "-")):
		case strings.HasPrefix(separator, ":"): // a header has all until the end of its quotes
			value, _, _ = strings.Cut(command[from+m[6]:], `"`)
			value, _, _ = strings.Cut(value, "'")
			found = appendCredential(found, value)
		case separator == "=" || strings.HasPrefix(name, "-"):
			found = appendCredential(found, strings.Trim(value, `"'`))
		}
		from += m[3] // a value may be a name
	}
	for _, m := range commandLogin.FindAllStringSubmatch(command, -1) {
		found = appendCredential(found, m[1])
	}
	return found
}

// WrittenCredentials returns the credentials that are written in the section, and not only referred to.
func (n *Notify) WrittenCredentials() []string {
	found := CommandCredentials(n.Command)
	if n.Token.Kind() == SecretLiteral {
		found = append(found, n.Token.text)
	}
	if address := n.URL.text; n.URL.Kind() == SecretLiteral && mayHoldCredential(address) {
		found = append(found, address)
	}
	return found
}

// appendCredential appends a value unless it has only references.
func appendCredential(found []string, value string) []string {
	rest := commandScheme.ReplaceAllString(commandReference.ReplaceAllString(value, ""), "")
	if strings.TrimSpace(rest) == "" {
		return found
	}
	return append(found, strings.TrimRight(strings.TrimSpace(value), ";&|"))
}

// maskCommand returns a shell command with its credentials masked.
func maskCommand(command string) string {
	for _, credential := range CommandCredentials(command) {
		command = strings.ReplaceAll(command, credential, Masked)
	}
	return command
}
