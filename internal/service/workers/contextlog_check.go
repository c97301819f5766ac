package workers

import (
	"fmt"
	"strings"

	"gascity/worker"
)

const (
	// maxContextBytes is the largest total size of the sections of one request, in bytes.
	maxContextBytes = 512 << 10
	// maxSectionType is the largest length of a section's type, in bytes.
	maxSectionType = 64
	// minClaim and maxClaim are the smallest and the largest length of a claim's ID, in bytes.
	minClaim = 8
	maxClaim = 64
)

// checkContext returns worker.ErrInvalid or worker.ErrTooLarge if the sections of c cannot be sent.
func checkContext(c worker.Context) error {
	size := 0
	for _, s := range c.Sections {
		if s.Type == "" || len(s.Type) > maxSectionType {
			return fmt.Errorf("%w: a section's type has %d bytes, must have 1 to %d", worker.ErrInvalid, len(s.Type), maxSectionType)
		}
		size += len(s.Content)
	}
	if len(c.Sections) == 0 {
		return fmt.Errorf("%w: there are no sections", worker.ErrInvalid)
	}
	if size > maxContextBytes {
		return fmt.Errorf("%w: the sections have %d bytes, at most %d are allowed", worker.ErrTooLarge, size, maxContextBytes)
	}
	return nil
}

// checkClaim returns worker.ErrInvalid if id is not a valid ID of a claim.
func checkClaim(id string) error {
	if len(id) >= minClaim && len(id) <= maxClaim && strings.HasPrefix(id, ClaimPrefix) &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == "" {
		return nil
	}
	return fmt.Errorf("%w: the claim ID %q must be %s followed by letters, digits and dashes, %d to %d characters in all", worker.ErrInvalid, id, ClaimPrefix, minClaim, maxClaim)
}
