package prompt

// FileLine returns the prompt that asks an agent to read its prompt from a file.
func FileLine(path string) string {
	return "Read the file " + path + " and follow it as if it were my message."
}
