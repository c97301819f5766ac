package runtimetest

import (
	"context"
	"errors"
	"time"

	"gascity/runtime"
)

// Need is an ability that a case depends on: an extension of package runtime,
// a capability, or a field of the [Harness].
type Need string

// The needs.
const (
	NeedObserve     Need = "observe"     // runtime.Observer
	NeedWatch       Need = "watch"       // runtime.Watcher
	NeedDeliver     Need = "deliver"     // runtime.Deliverer
	NeedRecover     Need = "recover"     // runtime.Recoverer
	NeedFence       Need = "fence"       // runtime.Fencer
	NeedIdle        Need = "idle"        // runtime.IdleWaitProvider
	NeedDialog      Need = "dialog"      // runtime.DialogProvider
	NeedImmediate   Need = "immediate"   // runtime.ImmediateNudgeProvider
	NeedBoundary    Need = "boundary"    // runtime.InterruptBoundaryWaitProvider
	NeedReset       Need = "reset"       // runtime.InterruptedTurnResetProvider
	NeedRelaunch    Need = "relaunch"    // runtime.RelaunchProvider
	NeedExec        Need = "exec"        // runtime.ExecProvider
	NeedScan        Need = "scan"        // runtime.ProcessTableScanner
	NeedInteraction Need = "interaction" // runtime.InteractionProvider
	NeedServer      Need = "server"      // runtime.ServerLifecycleProvider
	NeedTransport   Need = "transport"   // runtime.TransportCapabilityProvider
	NeedAttach      Need = "attach"      // runtime.Attacher
	NeedSense       Need = "sense"       // runtime.Sensor
	NeedWithdraw    Need = "withdraw"    // runtime.Withdrawer
	NeedClearInput  Need = "clear-input" // runtime.InputClearer
	NeedHints       Need = "hints"       // runtime.Hinter
	NeedWatching    Need = "watching"    // runtime.TerminalOpener
	NeedTyping      Need = "typing"      // runtime.TerminalOpener, and it can type

	NeedActivity   Need = "activity"   // Capabilities().CanReportActivity
	NeedAttachment Need = "attachment" // Capabilities().CanReportAttachment
	NeedTerminal   Need = "terminal"   // Capabilities().CanAttachTTY

	NeedReopen    Need = "reopen"    // Harness.Reopen
	NeedElsewhere Need = "elsewhere" // Harness.Elsewhere
)

// probeTime is the limit for a call that checks whether a driver really has an extension.
const probeTime = time.Millisecond

// missing returns the first of the needs that is not met, or "".
func (w *World) missing(needs []Need) Need {
	for _, need := range needs {
		if !w.has(need) {
			return need
		}
	}
	return ""
}

// has reports whether the provider and the harness have what a case needs.
func (w *World) has(need Need) bool {
	p, caps := w.Provider, runtime.CapabilitiesFor(w.Provider, w.Name("probe"))
	switch need {
	case NeedActivity:
		return caps.CanReportActivity
	case NeedAttachment:
		return caps.CanReportAttachment
	case NeedTerminal:
		return caps.CanAttachTTY
	case NeedReopen:
		return w.harness.Reopen != nil
	case NeedElsewhere:
		return w.harness.Elsewhere != nil
	default:
		return hasExtension(w.ctx, p, w.Name("probe"), need)
	}
}

// hasExtension reports whether the provider has the extension. It checks for the method, and then
// calls it for a missing session, because a provider behind a wire format may have the method and
// return "unsupported".
func hasExtension(ctx context.Context, p runtime.Provider, name string, need Need) bool {
	switch need {
	case NeedObserve:
		return isSupported[runtime.Observer](p, name, func(o runtime.Observer) error { _, err := o.Observe(ctx, name); return err })
	case NeedWatch:
		return isSupported[runtime.Watcher](p, "", func(x runtime.Watcher) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			_, err := x.Watch(ctx)
			return err
		})
	case NeedDeliver:
		return isSupported[runtime.Deliverer](p, name, func(x runtime.Deliverer) error {
			outcome, err := x.Deliver(ctx, name, runtime.Delivery{Content: runtime.TextContent("probe")})
			if err == nil && outcome.State == runtime.OutcomeUnsupported {
				return errors.ErrUnsupported
			}
			return err
		})
	case NeedRecover:
		return isSupported[runtime.Recoverer](p, name, func(x runtime.Recoverer) error { return x.Recover(ctx, name, "") })
	case NeedFence:
		return isSupported[runtime.Fencer](p, name, func(x runtime.Fencer) error { return x.StopInstance(ctx, name, "probe") })
	case NeedExec:
		return isSupported[runtime.ExecProvider](p, name, func(x runtime.ExecProvider) error {
			_, _, err := x.Exec(ctx, name, []string{"true"})
			return err
		})
	case NeedRelaunch:
		return isSupported[runtime.RelaunchProvider](p, name, func(x runtime.RelaunchProvider) error {
			return x.Relaunch(ctx, name, runtime.Config{})
		})
	default:
		return hasInputExtension(ctx, p, name, need)
	}
}

// hasInputExtension reports whether the provider supports an extension for input.
func hasInputExtension(ctx context.Context, p runtime.Provider, name string, need Need) bool {
	switch need {
	case NeedIdle:
		return isSupported[runtime.IdleWaitProvider](p, name, func(x runtime.IdleWaitProvider) error { return x.WaitForIdle(ctx, name, probeTime) })
	case NeedDialog:
		return isSupported[runtime.DialogProvider](p, name, func(x runtime.DialogProvider) error {
			return x.DismissKnownDialogs(ctx, name, probeTime)
		})
	case NeedImmediate:
		return isSupported[runtime.ImmediateNudgeProvider](p, name, func(x runtime.ImmediateNudgeProvider) error {
			return x.NudgeNow(name, runtime.TextContent("probe"))
		})
	case NeedBoundary:
		return isSupported[runtime.InterruptBoundaryWaitProvider](p, name, func(x runtime.InterruptBoundaryWaitProvider) error {
			return x.WaitForInterruptBoundary(ctx, name, time.Time{}, probeTime)
		})
	case NeedReset:
		return isSupported[runtime.InterruptedTurnResetProvider](p, name, func(x runtime.InterruptedTurnResetProvider) error {
			return x.ResetInterruptedTurn(ctx, name)
		})
	case NeedSense:
		return isSupported[runtime.Sensor](p, name, func(x runtime.Sensor) error { _, err := x.Sense(ctx, name); return err })
	case NeedWithdraw:
		return isSupported[runtime.Withdrawer](p, name, func(x runtime.Withdrawer) error { _, err := x.Withdraw(ctx, name, runtime.Delivery{}); return err })
	case NeedClearInput:
		return isSupported[runtime.InputClearer](p, name, func(x runtime.InputClearer) error { return x.ClearInput(ctx, name, "") })
	case NeedHints:
		return isSupported[runtime.Hinter](p, name, func(x runtime.Hinter) error { return x.SetHints(ctx, name, "", runtime.Hints{}) })
	case NeedWatching, NeedTyping:
		return isSupported[runtime.TerminalOpener](p, name, func(x runtime.TerminalOpener) error {
			_, err := x.OpenTerminal(ctx, name, runtime.TerminalOptions{Type: need == NeedTyping})
			return err
		})
	case NeedInteraction:
		return isSupported[runtime.InteractionProvider](p, name, func(x runtime.InteractionProvider) error { _, err := x.Pending(name); return err })
	case NeedScan:
		return isSupported[runtime.ProcessTableScanner](p, "", func(x runtime.ProcessTableScanner) error {
			_, err := x.FindRuntimesBySessionID(name)
			return err
		})
	case NeedServer:
		return isSupported[runtime.ServerLifecycleProvider](p, "", func(x runtime.ServerLifecycleProvider) error { return x.ConfigureServer() })
	case NeedAttach:
		return isSupported[runtime.Attacher](p, name, func(x runtime.Attacher) error {
			return x.AttachTerminal(ctx, name, runtime.AttachOptions{ReadOnly: true})
		})
	case NeedTransport:
		return isSupported[runtime.TransportCapabilityProvider](p, "", func(runtime.TransportCapabilityProvider) error { return nil })
	default:
		return false
	}
}

// isSupported reports whether the provider implements the extension X and the call try does not report it as
// unsupported.
func isSupported[X any](p runtime.Provider, session string, try func(X) error) bool {
	x, ok := runtime.As[X](p, session)
	return ok && !unsupported(try(x))
}

// unsupported reports whether err means that an extension is missing.
func unsupported(err error) bool {
	for _, sentinel := range []error{
		errors.ErrUnsupported, runtime.ErrExecUnsupported, runtime.ErrRelaunchUnsupported, runtime.ErrInteractionUnsupported,
	} {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return false
}
