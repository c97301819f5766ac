package inject

import (
	"context"
	"errors"
	"time"

	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/textchange"
	"gascity/runtime"
)

// noCommand reports whether the program shows that it knows no such command: Enter would
// leave the text where it is, before the next prompt.
func (d *delivery) noCommand() bool {
	return d.rules.Screen.ClearKey != "" && d.unknownShown() && d.isCommand()
}

// isCommand reports whether the program may take the text for a command of its own, perhaps
// without characters that do not arrive.
func (d *delivery) isCommand() bool {
	s := d.rules.Screen
	return s.IsCommand(d.text) || s.IsCommand(textchange.Without(s.Input, d.text))
}

// unknownShown: what was shown before the text is of an earlier one.
func (d *delivery) unknownShown() bool {
	before := screen.NewSnapshot(d.before).Count(d.rules.Screen.UnknownCommand)
	return d.Snapshot.Count(d.rules.Screen.UnknownCommand) > before
}

// unknownLeft reports whether the command is in the input box still.
func (d *delivery) unknownLeft() bool {
	if d.hasKnownInputBox() {
		return d.compareBox() != matchEmpty
	}
	return d.unknownShown()
}

// clearUnknownCommand clears a command that the program does not know out of the input box: the
// program never takes it.
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
	case errors.Is(err, screen.ErrExited), errors.Is(err, errHeld), errors.Is(err, inputlog.ErrTouched):
		return unconfirmed("%v", err), nil
	case err != nil:
		return unconfirmed("given up after the text was sent"), err
	case d.unknownLeft():
		return unconfirmed("it is not a command that the program knows, and it cannot be taken out of the input box"), nil
	}
	return *refused(runtime.RefusedContent, "the program knows no such command"), nil
}
