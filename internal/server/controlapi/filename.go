package controlapi

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gascity/client"
)

// maxFileName is the largest size of the name of a downloaded file, in bytes.
const maxFileName = 120

// copyName returns the name under which a browser saves a copy.
func copyName(target string, in client.CopyOutRequest) string {
	name := path.Base(path.Clean("/" + in.Path))
	if name == "/" {
		name = target
	}
	if !in.Plain {
		name += ".tar"
	}
	return name
}

// disposition returns the value of the header Content-Disposition that makes a browser save an answer as a file. Its name is safe:
// no directory, no hidden file, nothing invisible, and no name that Windows gives a device.
func disposition(name string) string {
	return "attachment; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(safeName(name)), "+", "%20")
}

// deviceNames returns the names of devices on Windows, without an extension.
func deviceNames() []string {
	return strings.Fields("CON PRN AUX NUL COM0 COM1 COM2 COM3 COM4 COM5 COM6 COM7 COM8 COM9 LPT0 LPT1 LPT2 LPT3 LPT4 LPT5 LPT6 LPT7 LPT8 LPT9")
}

// safeName returns a name of a file that every system accepts. It is at most maxFileName bytes long and has the extension of the given
// name. A character that is not allowed becomes an underscore.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	if len(name) > maxFileName {
		ext := path.Ext(name)
		if len(ext) > maxFileName/2 {
			ext = ""
		}
		name = strings.ToValidUTF8(name[:maxFileName-len(ext)], "") + ext
	}
	name = strings.TrimRight(name, ". ")
	base, _, _ := strings.Cut(name, ".")
	switch {
	case name == "":
		return "file"
	case strings.HasPrefix(name, "."), slices.Contains(deviceNames(), strings.ToUpper(strings.TrimSpace(base))):
		return "_" + name[1:]
	}
	return name
}
