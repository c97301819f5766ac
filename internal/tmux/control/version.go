package control

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// oldest is the first major version that has all that is done without asking.
const oldest = 3

// versionTime is how long the program may take to say its version.
const versionTime = 10 * time.Second

// usable asks the program for its version before it starts a server: an older one would start it,
// and then refuse what is asked of it, or end with its usage. A version that is not a number is not
// refused: it may be a newer one that was built by hand. Errors: ErrTooOld.
func (c *Client) usable(ctx context.Context, binary string) error {
	limited, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	command := exec.CommandContext(limited, binary, "-V")
	command.Env = c.options.Env
	said, err := command.Output()
	if err != nil {
		return nil // an error in it is reported when it is used
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(said)), "tmux ")
	major, _, _ := strings.Cut(version, ".")
	if number, err := strconv.Atoi(major); err == nil && number < oldest {
		return fmt.Errorf("%w: %s is version %s, and %d.0 or newer is needed", ErrTooOld, binary, version, oldest)
	}
	return nil
}
