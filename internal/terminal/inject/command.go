package inject

import (
	"context"
	"errors"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// isUnknownCommand reports whether the program shows that the text is a command that it does not know. Enter would then
// leave the text in the input box.
func (d *delivery) isUnknownCommand() bool {
	return d.rules.Screen.ClearKey != "" && d.unknownShown() && d.isCommand()
}

// isCommand reports whether the program may interpret the text as a command of its own, also after the characters that do
// not arrive are removed.
func (d *delivery) isCommand() bool {
	s := d.rules.Screen
	return s.IsCommand(d.text) || s.IsCommand(WithoutRemoved(s.Input, d.text))
}

// unknownShown reports whether the screen shows more messages about an unknown command than before the text.
func (d *delivery) unknownShown() bool {
	before := screen.NewSnapshot(d.before).Count(d.rules.Screen.UnknownCommand)
	return d.Snapshot.Count(d.rules.Screen.UnknownCommand) > before
}

// unknownLeft reports whether the unknown command is still in the input box.
func (d *delivery) unknownLeft() bool {
	if d.hasKnownInputBox() {
		return d.compareBox() != matchEmpty
	}
	return d.unknownShown()
}

// clearUnknownCommand removes a command that the program does not know from the input box, and returns a refusal if that
// succeeds.
func (d *delivery) clearUnknownCommand(ctx context.Context) (runtime.Outcome, error) {
	err := d.Hold(ctx)
	if err == nil {
		err = d.disturbed()
	}
	if err == nil {
		err = d.to.clearKey(ctx, d.Snapshot, d.rules)
	}
	for end := time.Now().Add(clearEffect); err == nil && d.unknownLeft() && time.Now().Before(end); {
		_, err = d.Next(ctx, time.Until(end))
	}
	switch {
	case errors.Is(err, screen.ErrExited), errors.Is(err, errHeld), errors.Is(err, ErrTouched):
		return unconfirmed("%v", err), nil
	case err != nil:
		return unconfirmed("the delivery was stopped after the text was sent and before a signal showed that the agent accepted it"), err
	case d.unknownLeft():
		return unconfirmed("the program does not know this command, and gc could not remove it from the input box"), nil
	}
	return *refused(runtime.RefusedContent, "the program does not know this command"), nil
}
