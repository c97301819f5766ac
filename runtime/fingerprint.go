package runtime

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// FingerprintVersion is the version of the hashing rules. It is the prefix of every fingerprint
// ("v1:<64 hex>"). A stored hash of another version is replaced and does not count as a change.
const FingerprintVersion = "v1"

// hashUnavailable replaces the hash of content that could not be read. It is constant, so that a
// temporary error does not appear as a change.
const hashUnavailable = "HASH_UNAVAILABLE"

// ConfigFingerprint returns the fingerprint of everything whose change needs a new start of the
// agent: the provision half and the launch half. Hints for observation and values of credentials
// are not hashed; [Fields] has the table. It reads the contents of overlay directories and copied
// files.
func ConfigFingerprint(cfg Config) string {
	return fingerprint("core", append(provisionParts(cfg), launchParts(cfg)...))
}

// ProvisionFingerprint returns the fingerprint of what the session's sandbox is created from. If it
// changes, the session is stopped and started.
func ProvisionFingerprint(cfg Config) string { return fingerprint("provision", provisionParts(cfg)) }

// LaunchFingerprint returns the fingerprint of what runs in the sandbox. If only this one changes,
// a relaunch in the same sandbox is enough.
func LaunchFingerprint(cfg Config) string { return fingerprint("launch", launchParts(cfg)) }

// LiveFingerprint returns the fingerprint of what RunLive applies. If only this one changes, the
// agent continues.
func LiveFingerprint(cfg Config) string {
	return fingerprint("live", []part{listPart("SessionLive", cfg.SessionLive)})
}

// FingerprintBreakdown returns a short hash for each [Config] field that is hashed, to find the
// field that changed. Fields that contribute nothing are left out. The three fields of the overlay
// slots are one entry, ProviderOverlayName.
func FingerprintBreakdown(cfg Config) map[string]string {
	parts := append(provisionParts(cfg), launchParts(cfg)...)
	parts = append(parts, listPart("SessionLive", cfg.SessionLive))
	out := make(map[string]string, len(parts))
	for _, p := range parts {
		if len(p.values) > 0 {
			sum := sha256.Sum256(p.encode(nil))
			out[p.name] = hex.EncodeToString(sum[:8])
		}
	}
	return out
}

// FingerprintCurrent reports whether a stored fingerprint was made by the current rules and may be
// compared.
func FingerprintCurrent(stored string) bool {
	return strings.HasPrefix(stored, FingerprintVersion+":")
}

// part is the contribution of one field. A part without values is not hashed, so a new field does
// not change the fingerprint of a configuration that does not use it.
type part struct {
	name   string
	values []string
}

// encode appends the part to b. Every string has its length before it, so two different parts never
// have the same bytes.
func (p part) encode(b []byte) []byte {
	put := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	put(p.name)
	b = binary.AppendUvarint(b, uint64(len(p.values)))
	for _, v := range p.values {
		put(v)
	}
	return b
}

// fingerprint returns the hash of name and of the parts that have values. Because of name, two
// fingerprints of different kinds differ even if their parts are equal.
func fingerprint(name string, parts []part) string {
	b := []byte(name)
	for _, p := range parts {
		if len(p.values) > 0 {
			b = p.encode(b)
		}
	}
	sum := sha256.Sum256(b)
	return FingerprintVersion + ":" + hex.EncodeToString(sum[:])
}

// provisionParts returns the fields that prepare the backend: directory, environment and files.
func provisionParts(cfg Config) []part {
	return []part{
		textPart("WorkDir", cfg.WorkDir),
		envPart("Env", cfg.Env),
		listPart("PreStart", cfg.PreStart),
		listPart("ProviderOverlayName", OverlayProviderNames(cfg)),
		contentPart("PackOverlayDirs", cfg.PackOverlayDirs),
		contentPart("OverlayDir", optional(cfg.OverlayDir)),
		copyPart(cfg.CopyFiles),
		mapPart("FingerprintExtra", cfg.FingerprintExtra),
	}
}

// launchParts returns the fields that decide how the agent is launched.
func launchParts(cfg Config) []part {
	parts := []part{
		textPart("Command", cfg.Command),
		textPart("Lifecycle", string(cfg.Lifecycle)),
		textPart("Upstream", cfg.Upstream),
		mcpPart(cfg.MCPServers),
		listPart("SessionSetup", cfg.SessionSetup),
	}
	if cfg.SessionSetupScript != "" {
		parts = append(parts, part{"SessionSetupScript", []string{cfg.SessionSetupScript, contentHash(cfg.SessionSetupScript)}})
	}
	if cfg.AcceptStartupDialogs != nil {
		parts = append(parts, textPart("AcceptStartupDialogs", strconv.FormatBool(*cfg.AcceptStartupDialogs)))
	}
	if cfg.MouseOn {
		parts = append(parts, textPart("MouseOn", "true"))
	}
	return parts
}

func optional(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func textPart(name, value string) part           { return part{name, optional(value)} }
func listPart(name string, values []string) part { return part{name, values} }

// mapPart returns a part with the keys and values of a map, sorted by key.
func mapPart(name string, m map[string]string) part {
	p := part{name: name}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		p.values = append(p.values, k, m[k])
	}
	return p
}

// envPart returns the part of environment variables: names and values, but only the names of
// secrets and addresses. So a rotated credential is not a change.
func envPart(name string, env map[string]string) part {
	p := part{name: name}
	for _, k := range slices.Sorted(maps.Keys(env)) {
		switch {
		case volatileEnv(k):
		case CredentialName(k):
			p.values = append(p.values, k, "")
		default:
			p.values = append(p.values, k, "="+env[k])
		}
	}
	return p
}

// volatileEnv reports whether a variable differs between instances or repeats another field.
func volatileEnv(key string) bool {
	switch key {
	case "GC_DIR", "GC_INSTANCE_TOKEN", "GC_WORKER_TOKEN", "GC_SESSION_ID", "GC_RUNTIME_EPOCH", "GC_CONTINUATION_EPOCH", "GC_BIN",
		"GC_READY_PROMPT_PREFIX", "GC_HOOKS", "GC_HOOK_DIR", "GC_FIRST_PROMPT", "GC_CHANNEL":
		return true
	}
	return false
}

// CredentialName reports whether a variable or header with the name key may contain a credential or
// an address that follows from one. Its value is never hashed, shown or logged.
func CredentialName(key string) bool {
	k := strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
	for _, word := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTHORIZATION", "COOKIE", "PRIVATE_KEY"} {
		if strings.Contains(k, word) {
			return true
		}
	}
	for _, suffix := range []string{"_KEY", "_AUTH", "_BASE_URL", "_API_URL", "_PAT", "_DSN"} {
		if strings.HasSuffix(k, suffix) {
			return true
		}
	}
	return k == "APIKEY" || k == "KEY"
}

// mcpPart returns a part with the MCP servers, in sorted order. Values of headers are left out,
// because they may be secret.
func mcpPart(servers []MCPServerConfig) part {
	p := part{name: "MCPServers"}
	for _, s := range servers {
		one := part{s.Name, []string{s.Transport, s.Command, s.URL}}
		for _, list := range [][]string{s.Args, envPart("", s.Env).values, slices.Sorted(maps.Keys(s.Headers))} {
			one.values = append(one.values, strconv.Itoa(len(list)))
			one.values = append(one.values, list...)
		}
		p.values = append(p.values, string(one.encode(nil)))
	}
	slices.Sort(p.values)
	return p
}

// contentPart returns a part with the content hashes of files or directories.
func contentPart(name string, paths []string) part {
	p := part{name: name}
	for _, path := range paths {
		p.values = append(p.values, contentHash(path))
	}
	return p
}

func contentHash(path string) string { return cmp.Or(HashPathContent(path), hashUnavailable) }

// copyPart returns one part of a fingerprint: the destination and the content hash of each copied file. An entry is probed if
// its file was found and hashed before; if such an entry has no hash, the file could not be read, and a constant stands for the
// hash.
func copyPart(entries []CopyEntry) part {
	p := part{name: "CopyFiles"}
	for _, e := range entries {
		hash := e.ContentHash
		if hash == "" && !e.Probed {
			hash = HashPathContent(e.Src)
		}
		p.values = append(p.values, e.RelDst, cmp.Or(hash, hashUnavailable))
	}
	return p
}
