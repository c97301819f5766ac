package tmux

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// oldestMajor is the oldest supported major version of tmux.
const oldestMajor = 3

// versionTime is the limit of the query for the program's version.
const versionTime = 10 * time.Second

// checkVersion returns errTooOld if the program is too old. It is called before a start, because an older program would
// start a server and then refuse its commands. It accepts a version that is not a number, which may be a newer one
// built from source.
func (c *controlClient) checkVersion(ctx context.Context, binary string) error {
	limited, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	command := exec.CommandContext(limited, binary, "-V")
	command.Env = c.options.Env
	output, err := command.Output()
	if err != nil {
		return nil // the start of the server reports the error
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(output)), "tmux ")
	major, _, _ := strings.Cut(version, ".")
	if number, err := strconv.Atoi(major); err == nil && number < oldestMajor {
		return fmt.Errorf("%w: %s is version %s, and %d.0 or newer is needed", errTooOld, binary, version, oldestMajor)
	}
	return nil
}
