package typist

import (
	"context"
	"errors"
	"time"

	"gascity/internal/console"
	"gascity/internal/journal"
	"gascity/runtime"
)

// noCommand reports whether the program shows that it knows no such command: Enter would
// leave the text where it is, before the next prompt.
func (d *delivery) noCommand() bool {
	return d.rules.Screen.IsCommand(d.text) && d.rules.Screen.ClearKey != "" && d.unknownShown()
}

func (d *delivery) unknownShown() bool { return d.View.Shows(d.rules.Screen.UnknownCommand) }

// takeBack clears a command that the program does not know out of the input line: the
// program never takes it.
func (d *delivery) takeBack(ctx context.Context) (runtime.Outcome, error) {
	err := d.Hold(ctx)
	if err == nil {
		err = d.disturbed()
	}
	if err == nil {
		err = d.to.clearKey(ctx, d.View, d.rules)
	}
	for end := time.Now().Add(clearEffect); err == nil && d.unknownShown() && time.Now().Before(end); {
		_, err = d.Next(ctx, time.Until(end))
	}
	switch {
	case errors.Is(err, console.ErrExited), errors.Is(err, errHeld), errors.Is(err, journal.ErrTouched):
		return unconfirmed("%v", err), nil
	case err != nil:
		return unconfirmed("given up after the text was sent"), err
	case d.unknownShown():
		return unconfirmed("it is no command that the program knows, and it cannot be taken out of the input line"), nil
	}
	return *refused(runtime.RefusedContent, "the program knows no such command"), nil
}
