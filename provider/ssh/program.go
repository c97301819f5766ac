package ssh

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"gascity/internal/driver/remote"
	"gascity/internal/textfmt"
)

// The directories of gc's program and of its outposts on the remote host.
const (
	programFolder = `"${XDG_CACHE_HOME:-$HOME/.cache}/gc"`
	outpostFolder = `"${XDG_STATE_HOME:-$HOME/.local/state}/gc/outpost`
)

// run returns the shell command line that runs gc's program with the given checksum on the remote
// host. args must be quoted. If the program is not installed, the command prints the platform of
// the host and exits with exitMissing. The user's login shell only has to be able to run sh.
func (h *host) run(program string, args ...string) string {
	return "exec sh -c " + textfmt.ShellWord("program="+programFolder+"/gc-"+program+"; folder="+outpostFolder+"/"+h.cfg.ID+`"; `+
		`[ -x "$program" ] || { echo; uname -sm; exit `+fmt.Sprint(exitMissing)+`; }; `+
		`exec "$program" outpost `+strings.Join(args, " "))
}

// uploadProgram copies the program for a platform to the remote host and returns the program's
// checksum. The file gets its final name when it is complete.
func (h *host) uploadProgram(ctx context.Context, system string) (program string, err error) {
	path, err := remote.FindProgram(h.target.String(), system, h.cfg.Program, h.cfg.Programs)
	if err != nil {
		return "", err
	}
	if program, err = fingerprint(path); err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	h.cfg.Logger.Info("copying gc to a host", "host", h.target.String(), "bytes", info.Size())
	line := fmt.Sprintf(`set -e; umask 077; dir=%s; mkdir -p "$dir"; part=$dir/part-$$; trap 'rm -f "$part"' EXIT; cat >"$part"; `+
		`[ "$(wc -c <"$part")" -eq %d ] || { echo "the copy of the program is incomplete" >&2; exit 1; }; `+
		`chmod 700 "$part"; mv "$part" "$dir/gc-%s"; cd "$dir"; `+removeOldPrograms, programFolder, info.Size(), program)
	cmd := h.command(ctx, "exec sh -c "+textfmt.ShellWord(line))
	cmd.Stdin = file
	output, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("copying gc to %s (%d MiB) took longer than [session.ssh] connect_timeout; raise connect_timeout: %w", h.target, info.Size()>>20, context.Cause(ctx))
	case err != nil:
		return "", fmt.Errorf("cannot copy gc to %s: %w; %s", h.target, err, strings.TrimSpace(string(output)))
	}
	return program, nil
}

// removeOldPrograms is the shell command that removes old programs. It keeps the newest four and
// every program that a process runs, because agents on the host call the program that started them.
// If ps lists no processes, it removes nothing.
const removeOldPrograms = `running=$(ps -A -o args=) && [ -n "$running" ] || exit 0; ls -t gc-* | tail -n +5 | while read -r old; do ` +
	`case $running in *"$old"*) ;; *) rm -f -- "$old" ;; esac; done`

// installed returns the checksum of gc's program for the platform of the remote host.
func (h *host) installed(ctx context.Context) (string, error) {
	if len(h.cfg.Programs) == 0 {
		return fingerprint(h.cfg.Program)
	}
	output, err := h.command(ctx, "exec sh -c 'echo; uname -sm'").Output()
	if err != nil {
		return "", fmt.Errorf("cannot read the platform of %s: %w", h.target, err)
	}
	return fingerprint(cmp.Or(h.cfg.Programs[remote.SystemOf(string(output))], h.cfg.Program))
}

// fingerprint returns the first 16 hexadecimal digits of the SHA-256 of a program.
func fingerprint(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot read gc's program: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("cannot read gc's program: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}
