package ssh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
)

// Where gc's program and its outposts are over there.
const (
	programFolder = `"${XDG_CACHE_HOME:-$HOME/.cache}/gc"`
	outpostFolder = `"${XDG_STATE_HOME:-$HOME/.local/state}/gc/outpost`
)

// run returns the line of shell that runs gc with the given checksum over there: args are
// quoted already. Where it is not, the line says so and what kind of host it is. Whatever
// the user's shell is, it only has to know how to run another one.
func (h *host) run(program string, args ...string) string {
	return "exec sh -c " + quote("program="+programFolder+"/gc-"+program+"; folder="+outpostFolder+"/"+h.cfg.ID+`"; `+
		`[ -x "$program" ] || { echo; uname -sm; exit `+fmt.Sprint(exitMissing)+`; }; `+
		`exec "$program" outpost `+strings.Join(args, " "))
}

// uploadProgram copies the program for a system over there, and returns its checksum. It has its
// name only when it is complete.
func (h *host) uploadProgram(ctx context.Context, system string) (program string, err error) {
	path := h.cfg.Program
	if system != goruntime.GOOS+"/"+goruntime.GOARCH {
		var ok bool
		if path, ok = h.cfg.Programs[system]; !ok {
			return "", fmt.Errorf("%s is %s and gc here is for %s/%s: build gc for it and name the file in [session.ssh] programs", h.target, system, goruntime.GOOS, goruntime.GOARCH)
		}
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
	h.cfg.Logger.Info("bringing gc to a host", "host", h.target.String(), "bytes", info.Size())
	line := fmt.Sprintf(`set -e; umask 077; dir=%s; mkdir -p "$dir"; part=$dir/part-$$; trap 'rm -f "$part"' EXIT; cat >"$part"; `+
		`[ "$(wc -c <"$part")" -eq %d ] || { echo "the program was cut off on its way" >&2; exit 1; }; `+
		`chmod 700 "$part"; mv "$part" "$dir/gc-%s"; cd "$dir"; `+tidy, programFolder, info.Size(), program)
	cmd := h.command(ctx, "exec sh -c "+quote(line))
	cmd.Stdin = file
	said, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("bringing gc to %s (%d MiB) took longer than [session.ssh] connect_timeout: raise it: %w", h.target, info.Size()>>20, context.Cause(ctx))
	case err != nil:
		return "", fmt.Errorf("cannot bring gc to %s: %w; %s", h.target, err, strings.TrimSpace(string(said)))
	}
	return program, nil
}

// tidy removes old programs but the newest few and those that somebody runs: agents over
// there call the one that they were started by. Without a list of processes all stay.
const tidy = `running=$(ps -A -o args=) && [ -n "$running" ] || exit 0; ls -t gc-* | tail -n +5 | while read -r old; do ` +
	`case $running in *"$old"*) ;; *) rm -f -- "$old" ;; esac; done`

// installed returns the checksum of the program that runs over there, of those that there
// are here.
func (h *host) installed(ctx context.Context) (string, error) {
	if len(h.cfg.Programs) == 0 {
		return fingerprint(h.cfg.Program)
	}
	said, err := h.command(ctx, "exec sh -c 'echo; uname -sm'").Output()
	if err != nil {
		return "", fmt.Errorf("cannot ask %s what it is: %w", h.target, err)
	}
	if path, ok := h.cfg.Programs[systemOf(string(said))]; ok {
		return fingerprint(path)
	}
	return fingerprint(h.cfg.Program)
}

// fingerprint names a program by what is in it.
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

// quote makes one word of shell.
func quote(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || slices.Contains([]rune("-_./"), r)
	}
	if text != "" && strings.TrimLeftFunc(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
