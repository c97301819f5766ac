package controlapi

import (
	"fmt"

	"gascity/client"
)

// maxReason is the largest size of the reason of an operation, in bytes.
const maxReason = 4 << 10

// checkLifecycle returns an error for a request to change whether a session runs, such as sleep, that is not valid.
func checkLifecycle(req client.LifecycleRequest) error {
	if len(req.Reason) > maxReason {
		return fmt.Errorf("%w: the reason has %d bytes, at most %d are allowed", client.ErrInvalid, len(req.Reason), maxReason)
	}
	return client.CheckDuration("timeout_ns", req.Timeout)
}

// checkRestart refuses a restart of one instance that does not name exactly one agent.
func checkRestart(req client.RestartRequest) error {
	if req.Instance != "" && len(req.Targets) != 1 {
		return fmt.Errorf("%w: a restart of one instance needs exactly one target, not %d", client.ErrInvalid, len(req.Targets))
	}
	return nil
}

// checkKeys refuses a request without key events.
func checkKeys(req client.KeysRequest) error {
	if len(req.Keys) == 0 {
		return fmt.Errorf("%w: no keys", client.ErrInvalid)
	}
	return nil
}

// checkOwner refuses a registered wait without an owner.
func checkOwner(req client.WaitRequest) error {
	if req.Owner == "" {
		return fmt.Errorf("%w: a registered wait needs an owner: the agent to notify", client.ErrInvalid)
	}
	return nil
}

// checkResponse returns an error for an answer to a pending question that is not valid.
func checkResponse(req client.RespondRequest) error {
	if (req.Option == "") == (req.Text == "") {
		return fmt.Errorf("%w: an answer is either an option or a text", client.ErrInvalid)
	}
	return checkBy(req.By)
}

// checkAlways returns an error for a confirmation of the rule of a pending question that is not valid.
func checkAlways(req client.AlwaysRequest) error {
	if req.Rule == "" {
		return fmt.Errorf("%w: the rule is missing; confirm the id of the rule that the question shows", client.ErrInvalid)
	}
	return checkBy(req.By)
}

// checkBy refuses the name of a person that is too long.
func checkBy(name string) error {
	if len(name) > client.MaxName {
		return fmt.Errorf("%w: the name in \"by\" has at most %d bytes", client.ErrInvalid, client.MaxName)
	}
	return nil
}

// checkPreview refuses an empty configuration.
func checkPreview(req client.PreviewRequest) error {
	if req.Config == "" {
		return fmt.Errorf("%w: the configuration is empty", client.ErrInvalid)
	}
	return nil
}

// checkEdit refuses an edited city.toml without the hash of the text that was edited.
func checkEdit(edit client.ConfigEdit) error {
	if edit.Hash == "" {
		return fmt.Errorf("%w: the hash of the file that was edited is missing", client.ErrInvalid)
	}
	return nil
}
