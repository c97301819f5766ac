package runtime

import (
	"path/filepath"
	"strings"
)

// The types of a [ContentBlock].
const (
	ContentText     = "text"
	ContentFilePath = "file_path"
)

// ContentBlock is one element of a message. Type is "text" or "file_path"; any
// other type is read as text.
type ContentBlock struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"` // for type text
	Path string `json:"path,omitempty"` // for type file_path: a path on the server
}

// TextContent returns a message of a single text block.
func TextContent(text string) []ContentBlock {
	return []ContentBlock{{Type: ContentText, Text: text}}
}

// FlattenText joins the texts of all blocks by newlines. A file_path block
// becomes the reference "[File: base]"; blocks without content are left out.
func FlattenText(content []ContentBlock) string {
	var parts []string
	for _, b := range content {
		switch b.Type {
		case ContentFilePath:
			if b.Path != "" {
				parts = append(parts, "[File: "+filepath.Base(b.Path)+"]")
			}
		default:
			if b.Text != "" {
				parts = append(parts, b.Text)
			}
		}
	}
	return strings.Join(parts, "\n")
}
