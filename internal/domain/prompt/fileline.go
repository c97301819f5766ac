package prompt

// FileLine returns the text that refers an agent to a file with its prompt.
func FileLine(path string) string {
	return "Read the file " + path + " and follow it as if it were my message."
}
