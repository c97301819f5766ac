package runtimetest

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/runtime"
)

// interactionCases returns the cases about questions of an agent and their answers.
func interactionCases() []Case {
	return append([]Case{
		prove("pending.none", "Pending returns nil while no question blocks the session, and ErrSessionNotFound for a missing session.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			if got, err := runtime.Pending(w.Provider, s.Name); got != nil || err != nil {
				t.Errorf("Pending = %+v, %v, want nil and nil", got, err)
			}
			_, err := runtime.Pending(w.Provider, w.Name("none"))
			expect(t, runtime.ErrSessionNotFound, err, "Pending of a missing session")
		}).needs(NeedInteraction),
		prove("pending.answer", "Pending returns a question with its text and options, and Respond answers it.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			asked := s.raiseQuestion()
			if !strings.Contains(asked.Prompt, "Proceed?") || !slices.Equal(asked.Options, []string{"yes", "no"}) {
				t.Errorf("the question is %q with options %q, want Proceed? with yes and no", asked.Prompt, asked.Options)
			}
			expect(t, nil, runtime.Respond(w.Provider, s.Name, runtime.InteractionResponse{RequestID: asked.RequestID, Action: runtime.ActionChoose, Text: "no"}), "Respond")
			if got := s.Await(LedgerChoice, 1)[0].Choice; got != "no" {
				t.Errorf("the agent received %q, want %q", got, "no")
			}
		}).needs(NeedInteraction),
		prove("pending.once", "A question is answered once, by its id: another id or a second answer returns ErrInteractionGone and nothing is sent. The next question has another id, even with the same text.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			asked := s.raiseQuestion()
			answer := runtime.InteractionResponse{RequestID: "another-" + asked.RequestID, Action: runtime.ActionChoose, Text: "no"}
			expect(t, runtime.ErrInteractionGone, runtime.Respond(w.Provider, s.Name, answer), "Respond to another id")
			answer = runtime.InteractionResponse{RequestID: asked.RequestID, Action: runtime.ActionChoose, Text: "yes"}
			expect(t, nil, runtime.Respond(w.Provider, s.Name, answer), "Respond")
			s.Await(LedgerChoice, 1)
			expect(t, runtime.ErrInteractionGone, runtime.Respond(w.Provider, s.Name, answer), "a second Respond")
			w.Until("it takes prompts again", func() bool { return w.Provider.Nudge(s.Name, runtime.TextContent(s.Agent.Question)) == nil })
			s.Await(LedgerAsked, 2)
			w.Until("the next question has another id", func() bool {
				next, err := runtime.Pending(w.Provider, s.Name)
				return err == nil && next != nil && next.RequestID != asked.RequestID
			})
			expect(t, runtime.ErrInteractionGone, runtime.Respond(w.Provider, s.Name, answer), "Respond to the second question with the answer to the first")
			if got := s.Recorded(LedgerChoice); len(got) != 1 || got[0].Choice != "yes" {
				t.Errorf("the agent received %v, want yes once", got)
			}
		}).needs(NeedInteraction),
		prove("pending.refused", "An answer that the question does not accept is an AnswerError, and nothing is sent.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			asked := s.raiseQuestion()
			answer := runtime.InteractionResponse{RequestID: asked.RequestID, Action: runtime.ActionChoose, Text: "perhaps"}
			expect(t, errors.ErrUnsupported, runtime.Respond(w.Provider, s.Name, answer), "Respond")
			if got := s.Recorded(LedgerChoice); len(got) > 0 {
				t.Errorf("the agent received %v", got)
			}
		}).needs(NeedInteraction),
		prove("respond.missing", "Respond to a missing session returns ErrSessionNotFound.", func(t T, w *World) {
			err := runtime.Respond(w.Provider, w.Name("none"), runtime.InteractionResponse{Action: runtime.ActionApprove})
			expect(t, runtime.ErrSessionNotFound, err, "Respond")
		}).needs(NeedInteraction),
	}, dialogCases()...)
}

// raiseQuestion makes the agent ask its question and waits until Pending returns it.
func (s *Session) raiseQuestion() *runtime.PendingInteraction {
	s.w.t.Helper()
	s.Nudge(s.Agent.Question)
	s.Await(LedgerAsked, 1)
	var asked *runtime.PendingInteraction
	s.w.Until("the question is pending", func() bool {
		var err error
		asked, err = runtime.Pending(s.w.Provider, s.Name)
		return err == nil && asked != nil
	})
	return asked
}

// dialogCases returns the cases about known dialogs at the start.
func dialogCases() []Case {
	return []Case{
		prove("dialog.start", "Start answers known dialogs with the accepting option, whichever row is highlighted.", func(_ T, w *World) {
			w.Start("a", Behaviour{Dialog: true}, withDialogs).wasAccepted()
		}).needs(NeedDialog),
		prove("dialog.off", "If AcceptStartupDialogs is false, no key is sent.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Dialog: true}, fireAndForget, withoutDialogs)
			s.awaitDialog()
			if n := len(s.Recorded(LedgerDialog)); n > 0 {
				t.Errorf("the dialog was answered")
			}
		}).needs(NeedDialog),
		prove("dialog.dismiss", "DismissKnownDialogs answers an open known dialog, and returns nil if there is none.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Dialog: true}, fireAndForget, withoutDialogs)
			s.awaitDialog()
			for range 2 {
				expect(t, nil, runtime.DismissKnownDialogs(w.ctx, w.Provider, s.Name, w.patience), "DismissKnownDialogs")
			}
			s.wasAccepted()
		}).needs(NeedDialog),
		prove("dialog.missing", "DismissKnownDialogs of a missing session returns ErrSessionNotFound.", func(t T, w *World) {
			err := runtime.DismissKnownDialogs(w.ctx, w.Provider, w.Name("none"), w.patience)
			expect(t, runtime.ErrSessionNotFound, err, "DismissKnownDialogs")
		}).needs(NeedDialog),
	}
}

// awaitDialog waits until the agent's dialog is on the screen or was answered.
func (s *Session) awaitDialog() {
	s.w.t.Helper()
	s.w.Until("the dialog of "+s.Name+" is shown", func() bool {
		out, err := s.w.Provider.Peek(s.Name, 0)
		return err == nil && strings.Contains(out, "exit") || len(s.Recorded(LedgerDialog)) > 0
	})
}

// wasAccepted checks that the agent's dialog was answered with the accepting option and that the
// agent is ready.
func (s *Session) wasAccepted() {
	s.w.t.Helper()
	if choice := s.Await(LedgerDialog, 1)[0].Choice; !strings.HasPrefix(choice, "Yes") {
		s.w.t.Errorf("the dialog was answered by %q, want a Yes", choice)
	}
	s.Await(LedgerReady, 1)
}

// boxCases returns the conformance cases about Exec and Relaunch, the extensions for a session's sandbox.
func boxCases() []Case {
	return append([]Case{
		prove("exec.runs", "Exec runs argv without a shell and returns its standard output unchanged and its exit code; a nonzero exit code is not an error.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			out, code, err := runtime.Exec(w.ctx, w.Provider, s.Name, []string{"sh", "-c", `printf '%s\n' "$1"; echo no >&2; exit 3`, "sh", "$HOME 'x'"})
			if string(out) != "$HOME 'x'\n" || code != 3 || err != nil {
				t.Errorf("Exec = %q, %d, %v, want %q, 3 and nil", out, code, err, "$HOME 'x'\n")
			}
		}).needs(NeedExec),
		prove("exec.missing", "Exec in a missing session returns ErrSessionNotFound, and a command that does not exist is an error.", func(t T, w *World) {
			marker := filepath.Join(w.Folder(), "marker")
			_, _, err := runtime.Exec(w.ctx, w.Provider, w.Name("none"), []string{"touch", marker})
			expect(t, runtime.ErrSessionNotFound, err, "Exec")
			if w.Exists(marker) {
				t.Errorf("the command ran")
			}
			s := w.Start("a", Behaviour{})
			if _, code, err := runtime.Exec(w.ctx, w.Provider, s.Name, []string{"/no/such/command"}); err == nil && code == 0 {
				t.Errorf("Exec of a missing command succeeded")
			}
		}).needs(NeedExec),
		prove("relaunch.replaces", "Relaunch starts the agent again in its sandbox, with the environment of the call. The old process is gone, and a new instance accepts prompts under the same name. Prompts for the old instance are refused.", func(t T, w *World) {
			s := w.Start("a", Behaviour{PrintEnv: true})
			old := s.Environ()["GC_INSTANCE_TOKEN"]
			pid := s.PID()
			cfg := s.Agent.Config
			cfg.Env = with(cfg.Env, map[string]string{"OF_THE_NEXT": "it's\n$new"})
			expect(t, nil, runtime.Relaunch(w.ctx, w.Provider, s.Name, cfg), "Relaunch")
			s.Await(LedgerStart, 2)
			if w.Alive(pid) {
				t.Errorf("the old agent still runs")
			}
			expect(t, runtime.ErrStaleInstance, runtime.InterruptInstance(w.ctx, w.Provider, s.Name, old), "InterruptInstance")
			if !w.Provider.IsRunning(s.Name) {
				t.Errorf("the session does not run")
			}
			s.Nudge("hello again")
			s.consumed("hello again")
			if env := s.Environ(); env["OF_THE_NEXT"] != "it's\n$new" || env["GC_INSTANCE_TOKEN"] == old {
				t.Errorf("the new agent has the environment of the old one: %v", env)
			}
		}).needs(NeedRelaunch),
		prove("relaunch.missing", "Relaunch of a missing session returns ErrSessionNotFound.", func(t T, w *World) {
			agent := w.Agent(Behaviour{})
			expect(t, runtime.ErrSessionNotFound, runtime.Relaunch(w.ctx, w.Provider, w.Name("none"), agent.Config), "Relaunch")
		}).needs(NeedRelaunch),
	}, turnCases()...)
}

// turnCases returns the cases about what follows an interrupt of a turn.
func turnCases() []Case {
	return append([]Case{
		prove("boundary.seen", "WaitForInterruptBoundary returns nil when a turn was cancelled after the time since.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Turn: time.Hour})
			since := time.Now()
			s.Nudge("a long task")
			s.AwaitPrompt("a long task")
			expect(t, nil, w.Provider.Interrupt(s.Name), "Interrupt")
			expect(t, nil, runtime.WaitForInterruptBoundary(w.ctx, w.Provider, s.Name, since, w.patience), "WaitForInterruptBoundary")
			if n := len(s.Recorded(LedgerInterrupted)); n != 1 {
				t.Errorf("the boundary was confirmed, but the agent was interrupted %d times", n)
			}
		}).needs(NeedBoundary),
		prove("boundary.timeout", "If no turn was cancelled after since, WaitForInterruptBoundary returns an error at its timeout.", func(t T, w *World) {
			s, ended := w.Start("a", Behaviour{}), make(chan error, 1)
			go func() {
				ended <- runtime.WaitForInterruptBoundary(w.ctx, w.Provider, s.Name, time.Now(), 100*time.Millisecond)
			}()
			if err := awaitResult(w, "the timeout of WaitForInterruptBoundary", ended); err == nil {
				t.Errorf("WaitForInterruptBoundary without an interrupt = nil, want an error")
			}
		}).needs(NeedBoundary),
		prove("reset.runs", "After an interrupt ResetInterruptedTurn returns nil, and the next prompt arrives without text of the interrupted turn.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Turn: time.Hour})
			s.Nudge("a long task")
			s.AwaitPrompt("a long task")
			expect(t, nil, w.Provider.Interrupt(s.Name), "Interrupt")
			s.Await(LedgerInterrupted, 1)
			expect(t, nil, runtime.ResetInterruptedTurn(w.ctx, w.Provider, s.Name), "ResetInterruptedTurn")
			s.Nudge("another")
			s.consumed("a long task", "another")
		}).needs(NeedReset),
	}, scanCases()...)
}

// scanCases returns the cases about finding an agent by its session id.
func scanCases() []Case {
	identify := func(id string) func(*runtime.Config) {
		return func(cfg *runtime.Config) {
			cfg.Env = with(cfg.Env, map[string]string{"GC_SESSION_ID": id, "GC_RUNTIME_EPOCH": "3", "GC_CITY_PATH": "/cities/" + id})
		}
	}
	return []Case{
		prove("scan.finds", "FindRuntimesBySessionID finds the agent that has this GC_SESSION_ID in its environment. The result has its city, its epoch (the number of the instance) and the session's name.", func(t T, w *World) {
			id := w.Prefix() + "id"
			s, other := w.Start("a", Behaviour{}, identify(id)), w.Start("b", Behaviour{}, identify(id+"0"))
			s.PID()
			other.PID()
			found, err := runtime.FindRuntimesBySessionID(w.Provider, id)
			if err != nil || len(found) != 1 {
				t.Fatalf("found %+v, %v, want one", found, err)
			}
			got := found[0]
			want := runtime.LiveRuntime{SessionID: id, City: "/cities/" + id, Epoch: 3, PID: got.PID, ProviderName: s.Name, IsTracked: true}
			if got != want || !w.Alive(got.PID) {
				t.Errorf("found %+v, want %+v with a live process", got, want)
			}
		}).needs(NeedScan),
		prove("scan.none", "A stopped session is not found.", func(t T, w *World) {
			id := w.Prefix() + "id"
			w.Start("a", Behaviour{}, identify(id)).Stop()
			if found, err := runtime.FindRuntimesBySessionID(w.Provider, id); len(found) != 0 || err != nil {
				t.Errorf("found %+v, %v, want none", found, err)
			}
		}).needs(NeedScan),
		prove("scan.terminate", "TerminateRuntime stops the process that was found; for a process that is gone it returns nil.", func(t T, w *World) {
			id := w.Prefix() + "id"
			s := w.Start("a", Behaviour{}, identify(id))
			s.PID()
			found, err := runtime.FindRuntimesBySessionID(w.Provider, id)
			if err != nil || len(found) != 1 {
				t.Fatalf("found %+v, %v, want one", found, err)
			}
			for range 2 {
				expect(t, nil, runtime.TerminateRuntime(w.Provider, found[0]), "TerminateRuntime")
			}
			w.Until("the process is gone", func() bool { return !w.Alive(found[0].PID) })
		}).needs(NeedScan),
	}
}

// serverCases returns the cases about the provider's server and the transports.
func serverCases() []Case {
	return []Case{
		prove("server.configure", "ConfigureServer is idempotent and does not change sessions.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			for range 2 {
				expect(t, nil, runtime.ConfigureServer(w.Provider), "ConfigureServer")
			}
			if !w.Provider.IsRunning(s.Name) {
				t.Errorf("the session does not run any more")
			}
		}).needs(NeedServer),
		prove("server.teardown", "TeardownServer of a server that is gone returns nil, and a later Start works.", func(t T, w *World) {
			w.Start("a", Behaviour{}).Stop()
			for range 2 {
				expect(t, nil, runtime.TeardownServer(w.Provider), "TeardownServer")
			}
			w.Start("b", Behaviour{})
		}).needs(NeedServer),
		prove("transport.known", "The empty transport is supported, an unknown one is not.", func(t T, w *World) {
			if !runtime.SupportsTransport(w.Provider, "") || runtime.SupportsTransport(w.Provider, "no-such-transport") {
				t.Errorf("SupportsTransport is wrong about the empty or an unknown transport")
			}
		}).needs(NeedTransport),
	}
}
