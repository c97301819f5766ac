package client

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The limits of requests. The Check methods apply them.
const (
	MaxPrompt        = 1 << 20          // bytes of the text of a prompt
	MaxFiles         = 64               // files of a prompt
	MaxName          = 256              // bytes of a key, of a source and of the name of a person
	MaxMetadata      = 32               // entries of the metadata of a prompt
	MaxMetadataBytes = 16 << 10         // bytes of all its keys and values
	MaxDuration      = 8760 * time.Hour // of a time to live and of a timeout
)

// invalid returns an [ErrInvalid] with a message.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// CheckPrompt returns [ErrInvalid] if text cannot be the text of a prompt.
func CheckPrompt(text string) error {
	switch {
	case text == "":
		return invalid("the prompt is empty")
	case len(text) > MaxPrompt:
		return invalid("the prompt is too long, the limit is %d bytes; put the text into a file and send that", MaxPrompt)
	}
	return checkText(text)
}

// checkText returns [ErrInvalid] for a text that JSON would change.
func checkText(text string) error {
	if !utf8.ValidString(text) {
		return invalid("the prompt is not valid UTF-8")
	}
	return nil
}

// CheckDuration returns [ErrInvalid] if the duration in a field of a request is negative or longer
// than [MaxDuration].
func CheckDuration(field string, d time.Duration) error {
	if d < 0 || d > MaxDuration {
		return invalid("%s is %v, want 0 to %v", field, d, MaxDuration)
	}
	return nil
}

// Check returns [ErrInvalid] if the request can never succeed without a change. It does not read
// the files.
func (r NudgeRequest) Check() error {
	if r.Text != "" || len(r.Files) == 0 {
		if err := CheckPrompt(r.Text); err != nil {
			return err
		}
	}
	if len(r.Files) > MaxFiles {
		return invalid("%d files, at most %d are allowed with one prompt", len(r.Files), MaxFiles)
	}
	for _, file := range r.Files {
		if !filepath.IsAbs(file) {
			return invalid("the file %q has no absolute path", file)
		}
	}
	return cmp.Or(
		checkNames(r.Key, r.Source), CheckDuration("ttl_ns", r.TTL), checkPriority(r.Priority), CheckReceiptWait(r.Wait), checkMetadata(r.Metadata),
	)
}

// Check returns [ErrInvalid] if the change of the prompt with this id can never succeed.
func (r EditRequest) Check(id string) error {
	switch {
	case len(r.By) > MaxName:
		return invalid("by has more than %d bytes", MaxName)
	case r.Text == nil && r.Priority == nil && r.TTL == nil:
		return invalid("the request changes nothing")
	case r.Text != nil && *r.Text == "":
		return invalid("the prompt is empty; to cancel it: gc queue cancel %s", id)
	case r.TTL != nil && *r.TTL == 0:
		return invalid("ttl_ns is 0; to cancel the prompt: gc queue cancel %s", id)
	}
	if r.Text != nil {
		if err := CheckPrompt(*r.Text); err != nil {
			return err
		}
	}
	if r.Priority != nil {
		if err := checkPriority(*r.Priority); err != nil {
			return err
		}
	}
	if r.TTL != nil {
		return CheckDuration("ttl_ns", *r.TTL)
	}
	return nil
}

// Check returns [ErrInvalid] if the request does not name exactly one place. id is the prompt that is moved.
func (r MoveRequest) Check(id string) error {
	places := 0
	for _, given := range []bool{r.Before != "", r.First, r.Last} {
		if given {
			places++
		}
	}
	switch {
	case len(r.By) > MaxName:
		return invalid("by has more than %d bytes", MaxName)
	case places != 1:
		return invalid("name one place: before, first or last")
	case r.Before == id:
		return invalid("a prompt cannot be moved before itself")
	}
	return nil
}

// Check returns [ErrInvalid] if the request can never succeed without a change.
func (r RetryRequest) Check() error { return checkNames(r.Key, r.Source) }

// checkNames returns [ErrInvalid] if the key or the source of a prompt is too long.
func checkNames(key, source string) error {
	if len(key) > MaxName || len(source) > MaxName {
		return invalid("a key and a source have at most %d bytes", MaxName)
	}
	return nil
}

func checkPriority(priority string) error {
	if priority != "" && !slices.Contains(Priorities(), priority) {
		return invalid("the priority %q is not one of %s", priority, strings.Join(Priorities(), ", "))
	}
	return nil
}

// CheckReceiptWait returns [ErrInvalid] if a receipt cannot be waited for in the given state.
func CheckReceiptWait(state string) error {
	switch state {
	case "", ReceiptSubmitted, ReceiptConsumed:
		return nil
	}
	return invalid("cannot wait for %q: it is not one of %s, %s", state, ReceiptSubmitted, ReceiptConsumed)
}

// checkMetadata returns [ErrInvalid] if the metadata of a prompt is not valid or too large.
func checkMetadata(m map[string]string) error {
	size := 0
	for key, value := range m {
		if key == "" || !utf8.ValidString(key) || !utf8.ValidString(value) {
			return invalid("the metadata key %q is empty, or the key or the value is not UTF-8", key)
		}
		size += len(key) + len(value)
	}
	if len(m) > MaxMetadata || size > MaxMetadataBytes {
		return invalid("the metadata has %d entries and %d bytes, the limit is %d and %d", len(m), size, MaxMetadata, MaxMetadataBytes)
	}
	return nil
}

// Check returns [ErrInvalid] if the condition is not valid. A registered wait also needs an owner.
func (r WaitRequest) Check() error {
	if err := CheckDuration("timeout_ns", r.Timeout); err != nil {
		return err
	}
	switch {
	case slices.Contains(AgentConditions(), r.For):
		if r.Target == "" {
			return invalid("a wait for %s needs a target: the name of an agent or a session", r.For)
		}
	case !slices.Contains(OtherConditions(), r.For):
		return invalid("%q is not a condition; the conditions are: %s", r.For, strings.Join(slices.Concat(AgentConditions(), OtherConditions()), ", "))
	case r.Arg == "":
		return invalid("a wait for a %s needs arg", r.For)
	case r.For == WaitTime:
		if _, err := time.Parse(time.RFC3339Nano, r.Arg); err != nil {
			return invalid("%q is not an RFC 3339 time", r.Arg)
		}
	}
	return nil
}
