package contextlog

import (
	"fmt"
	"strings"

	"gascity/worker"
)

const (
	// MaxContext is the most bytes that the sections of one order may have.
	MaxContext = 512 << 10
	// maxType is the most bytes of a section's type.
	maxType = 64
	// minClaim and maxClaim are the bounds of a claim's name in bytes.
	minClaim = 8
	maxClaim = 64
)

// CheckContext refuses what cannot be an order.
func CheckContext(c worker.Context) error {
	size := 0
	for _, s := range c.Sections {
		if s.Type == "" || len(s.Type) > maxType {
			return fmt.Errorf("%w: a section's type has %d bytes, must have 1 to %d", worker.ErrInvalid, len(s.Type), maxType)
		}
		size += len(s.Content)
	}
	if len(c.Sections) == 0 {
		return fmt.Errorf("%w: there are no sections", worker.ErrInvalid)
	}
	if size > MaxContext {
		return fmt.Errorf("%w: the sections have %d bytes, at most %d are given", worker.ErrTooLarge, size, MaxContext)
	}
	return nil
}

// CheckClaim refuses what cannot be the name of a claim.
func CheckClaim(id string) error {
	if len(id) >= minClaim && len(id) <= maxClaim && strings.HasPrefix(id, ClaimPrefix) &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == "" {
		return nil
	}
	return fmt.Errorf("%w: the claim %q is not called %s and then letters, digits and dashes, %d to %d in all", worker.ErrInvalid, id, ClaimPrefix, minClaim, maxClaim)
}
