package ssh

import (
	"os/exec"
	"testing"
)

// The shell on the host gets every word unchanged.
func FuzzQuote(f *testing.F) {
	for _, word := range []string{"", "plain-1.2/x_y", "it's", `a"b\c`, "$(touch x)`y`", "a b\nc", "!", "~", "*", "ünï", "-n"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for _, b := range []byte(word) {
			if b == 0 {
				t.Skip("no argument holds it")
			}
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("quote(%q) = %s, which sh reads as %q, %v", word, quote(word), out, err)
		}
	})
}

func TestSystemOf(t *testing.T) {
	for printed, want := range map[string]string{
		"Linux x86_64":                          "linux/amd64",
		"Welcome!\nLinux aarch64\n":             "linux/arm64",
		"Darwin arm64":                          "darwin/arm64",
		"Darwin x86_64\r\n":                     "darwin/amd64",
		"Linux armv7l":                          "linux/arm",
		"Linux i686":                            "linux/386",
		"Linux riscv64":                         "linux/riscv64",
		"FreeBSD amd64":                         "freebsd/amd64",
		"":                                      "/",
		"noise without an end":                  "noise/without an end",
		"MINGW64_NT-10.0-19045 x86_64":          "mingw64_nt-10.0-19045/amd64",
		"\n\nLinux ppc64le\n\n":                 "linux/ppc64le",
		"Last login: today\r\nLinux x86_64\r\n": "linux/amd64",
	} {
		if got := systemOf(printed); got != want {
			t.Errorf("systemOf(%q) = %q, want %q", printed, got, want)
		}
	}
}
