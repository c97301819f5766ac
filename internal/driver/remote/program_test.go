package remote_test

import (
	"testing"

	"gascity/internal/driver/remote"
)

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
		if got := remote.SystemOf(printed); got != want {
			t.Errorf("SystemOf(%q) = %q, want %q", printed, got, want)
		}
	}
}
