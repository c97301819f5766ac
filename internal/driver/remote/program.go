package remote

import (
	"fmt"
	goruntime "runtime"
	"strings"
)

// SystemOf returns the last line of the output of uname -sm in Go's notation, such as
// "linux/amd64".
func SystemOf(printed string) string {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	system, machine, _ := strings.Cut(strings.ToLower(strings.TrimSpace(lines[len(lines)-1])), " ")
	switch {
	case machine == "x86_64":
		machine = "amd64"
	case machine == "aarch64":
		machine = "arm64"
	case strings.HasPrefix(machine, "armv"):
		machine = "arm"
	case len(machine) == 4 && strings.HasSuffix(machine, "86"):
		machine = "386"
	}
	return system + "/" + machine
}

// FindProgram returns the path of gc's program for a platform: own is the one for this machine's platform, and others are those
// for other platforms. where names the remote machine in the error that there is none.
func FindProgram(where, system, own string, others map[string]string) (string, error) {
	if system == goruntime.GOOS+"/"+goruntime.GOARCH {
		return own, nil
	}
	path, ok := others[system]
	if !ok {
		return "", fmt.Errorf("%s runs %s, and this gc is built for %s/%s: build gc for %s and add the file to programs in [session.ssh] of city.toml", where, system, goruntime.GOOS, goruntime.GOARCH, system)
	}
	return path, nil
}
