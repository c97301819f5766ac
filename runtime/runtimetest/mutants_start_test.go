package runtimetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// edited starts with a changed configuration.
func edited(edit func(cfg *runtime.Config)) func(m *modifiedFake) {
	return func(m *modifiedFake) {
		m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
			edit(&cfg)
			return m.Provider.Start(ctx, name, cfg)
		}
	}
}

// failing changes the error of a start.
func failing(change func(err error) error) func(m *modifiedFake) {
	return func(m *modifiedFake) {
		m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
			return change(m.Provider.Start(ctx, name, cfg))
		}
	}
}

func missing(dir string) bool { _, err := os.Stat(dir); return err != nil }

func winsAlways(m *modifiedFake) {
	failing(func(err error) error {
		if errors.Is(err, runtime.ErrSessionExists) {
			return nil
		}
		return err
	})(m)
}

func startMutants() map[string]func(m *modifiedFake) {
	return map[string]func(m *modifiedFake){
		"start.runs": func(m *modifiedFake) { m.isRunning = func(string) bool { return false } },
		"start.command": edited(func(cfg *runtime.Config) {
			_, program, _ := strings.Cut(cfg.Command, "fake_agent")
			cfg.Command = "fake_agent" + program
		}),
		"start.no-command": func(m *modifiedFake) {
			m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
				if cfg.Command == "" {
					return errors.New("no command")
				}
				return m.Provider.Start(ctx, name, cfg)
			}
		},
		"start.env": edited(func(cfg *runtime.Config) {
			env := map[string]string{}
			for key, value := range cfg.Env {
				env[key] = strings.ReplaceAll(value, "\n", " ")
			}
			cfg.Env = env
		}),
		"start.env-unset": edited(func(cfg *runtime.Config) { cfg.Env = nil }),
		"start.work-dir":  edited(func(cfg *runtime.Config) { cfg.WorkDir = os.TempDir() }),
		"start.work-dir-missing": edited(func(cfg *runtime.Config) {
			if missing(cfg.WorkDir) {
				cfg.WorkDir = os.TempDir()
			}
		}),
		"start.work-dir-made": func(m *modifiedFake) {
			m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
				if missing(cfg.WorkDir) {
					return os.ErrNotExist
				}
				return m.Provider.Start(ctx, name, cfg)
			}
		},
		"start.pre-start": edited(func(cfg *runtime.Config) { slices.Reverse(cfg.PreStart) }),
		"start.pre-start-failure": edited(func(cfg *runtime.Config) {
			for i, command := range cfg.PreStart {
				cfg.PreStart[i] = "(" + command + ") || true"
			}
		}),
		"start.invalid-name": func(m *modifiedFake) {
			m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
				for _, command := range cfg.PreStart {
					if _, err := fake.RunShell(ctx, "", os.Environ(), command); err != nil {
						return err
					}
				}
				return m.Provider.Start(ctx, name, cfg)
			}
		},
		"start.duplicate": func(m *modifiedFake) {
			m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
				return errors.Join(m.Provider.Stop(name), m.Provider.Start(ctx, name, cfg))
			}
		},
		"start.duplicate-race":      winsAlways,
		"start.duplicate-processes": winsAlways,
		"start.independent": func(m *modifiedFake) {
			var one sync.Mutex
			m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
				one.Lock()
				defer one.Unlock()
				return m.Provider.Start(ctx, name, cfg)
			}
		},
		"start.identity": edited(func(cfg *runtime.Config) { cfg.Command = "unset GC_INSTANCE_TOKEN; " + cfg.Command }),
		"start.token":    edited(func(cfg *runtime.Config) { cfg.Command = "export GC_INSTANCE_TOKEN=one; " + cfg.Command }),
	}
}

func startupMutants() map[string]func(m *modifiedFake) {
	return map[string]func(m *modifiedFake){
		"start.ready":           edited(func(cfg *runtime.Config) { cfg.ReadyPromptPrefix = "" }),
		"start.fire-and-forget": edited(func(cfg *runtime.Config) { cfg.ReadyPromptPrefix = "any" }),
		"start.one-shot":        edited(func(cfg *runtime.Config) { cfg.Lifecycle = "" }),
		"start.died": failing(func(err error) error {
			if errors.Is(err, runtime.ErrSessionDiedDuringStartup) {
				return runtime.ErrSessionDiedDuringStartup
			}
			return err
		}),
		"start.replaces-corpse": func(m *modifiedFake) {
			m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
				if _, err := m.Provider.Peek(name, 0); err == nil {
					return runtime.ErrSessionExists
				}
				return m.Provider.Start(ctx, name, cfg)
			}
		},
		"start.prompt-suffix": edited(func(cfg *runtime.Config) {
			cfg.PromptSuffix = ""
		}),
		"start.prompt-flag": edited(func(cfg *runtime.Config) { cfg.PromptFlag = "" }),
		"start.nudge":       edited(func(cfg *runtime.Config) { cfg.Nudge = "" }),
		"start.setup-order": edited(func(cfg *runtime.Config) {
			cfg.SessionSetup, cfg.SessionLive = cfg.SessionLive, cfg.SessionSetup
		}),
		"start.setup-failure": edited(func(cfg *runtime.Config) { cfg.SessionSetup = cfg.SessionSetup[:1] }),
		"start.staging":       edited(func(cfg *runtime.Config) { cfg.CopyFiles = nil }),
		"start.overlay-keeps": func(m *modifiedFake) {
			m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
				return errors.Join(m.Provider.Start(ctx, name, cfg), m.Provider.CopyTo(name, cfg.OverlayDir, ""))
			}
		},
		"start.overlay-slots": edited(func(cfg *runtime.Config) { cfg.InstallAgentHooks = append(cfg.InstallAgentHooks, "gamma") }),
	}
}

// leavesSession reports the end of ctx truly, but leaves a session behind.
func leavesSession(m *modifiedFake) {
	m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
		err := m.Provider.Start(ctx, name, cfg)
		if ctx.Err() != nil {
			err = errors.Join(err, m.Provider.Start(context.WithoutCancel(ctx), name, runtime.Config{}))
		}
		return err
	}
}

// ignoresCtx goes on whatever happens to ctx.
func ignoresCtx(m *modifiedFake) {
	m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
		return m.Provider.Start(context.WithoutCancel(ctx), name, cfg)
	}
}

func cancelMutants() map[string]func(m *modifiedFake) {
	return map[string]func(m *modifiedFake){
		"start.ctx-done":      ignoresCtx,
		"start.ctx-pre-start": leavesSession,
		"start.ctx-ready":     ignoresCtx,
		"start.ctx-setup":     leavesSession,
		"start.ctx-live": failing(func(err error) error {
			if errors.Is(err, context.Canceled) {
				return fmt.Errorf("session_live: %v", err) //nolint:errorlint // losing the cause is the mutation
			}
			return err
		}),
	}
}

// firstWithPrefix finds a session as a careless look-up does.
func (m *modifiedFake) firstWithPrefix(name string) string {
	names, err := m.Provider.ListRunning(name)
	if err != nil || len(names) == 0 {
		return name
	}
	return names[0]
}

// endAgentOnly ends the agent's own process.
func (m *modifiedFake) endAgentOnly(name string) error {
	obs, err := m.Provider.Observe(context.Background(), name) //nolint:forbidigo // Stop has no ctx
	if err != nil {
		return err
	}
	return m.Provider.TerminateRuntime(runtime.LiveRuntime{PID: obs.PID, ProviderName: name})
}

func stopMutants() map[string]func(m *modifiedFake) {
	agentOnly := func(m *modifiedFake) { m.stop = m.endAgentOnly }
	return map[string]func(m *modifiedFake){
		"stop.ends": func(m *modifiedFake) { m.stop = func(string) error { return nil } },
		"stop.missing": func(m *modifiedFake) {
			m.stop = func(name string) error {
				if _, err := m.Provider.Peek(name, 0); err != nil {
					return err
				}
				return m.Provider.Stop(name)
			}
		},
		"stop.twice": func(m *modifiedFake) {
			m.stop = func(name string) error {
				if m.count++; m.count > 1 {
					return errors.New("already stopped")
				}
				return m.Provider.Stop(name)
			}
		},
		"stop.concurrent": func(m *modifiedFake) {
			m.stop = func(name string) error {
				m.mu.Lock()
				defer m.mu.Unlock()
				if m.count++; m.count < 8 {
					return nil // somebody else will do it
				}
				return m.Provider.Stop(name)
			}
		},
		"stop.setsid":   agentOnly,
		"stop.daemon":   agentOnly,
		"stop.stubborn": func(m *modifiedFake) { m.stop = func(string) error { return nil } },
		"stop.exact": func(m *modifiedFake) {
			m.stop = func(name string) error { return m.Provider.Stop(m.firstWithPrefix(name)) }
		},
		"stop.start": func(m *modifiedFake) {
			m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
				if len(m.Provider.Calls("Stop")) > 0 {
					return runtime.ErrSessionInitializing
				}
				return m.Provider.Start(ctx, name, cfg)
			}
		},
		"stop.corpse": func(m *modifiedFake) {
			m.stop = func(name string) error {
				if !m.Provider.IsRunning(name) {
					return nil
				}
				return m.Provider.Stop(name)
			}
		},
		"interrupt.missing": func(m *modifiedFake) {
			m.interrupt = func(name string) error { _, err := m.Provider.Peek(name, 0); return err }
		},
		"interrupt.turn": func(m *modifiedFake) { m.interrupt = func(string) error { return nil } },
		"interrupt.exact": func(m *modifiedFake) {
			m.interrupt = func(name string) error { return m.Provider.Interrupt(m.firstWithPrefix(name)) }
		},
	}
}
