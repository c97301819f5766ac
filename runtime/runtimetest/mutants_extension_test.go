package runtimetest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"gascity/runtime"
)

// observed changes what a look finds.
func observed(change func(m *modifiedFake, name string, obs *runtime.Observation)) func(m *modifiedFake) {
	return func(m *modifiedFake) {
		m.observe = func(ctx context.Context, name string) (runtime.Observation, error) {
			obs, err := m.Provider.Observe(ctx, name)
			change(m, name, &obs)
			return obs, err
		}
	}
}

// filtered drops events.
func filtered(keep func(e runtime.Event) bool) func(m *modifiedFake) {
	return func(m *modifiedFake) {
		m.watch = func(ctx context.Context) (<-chan runtime.Event, error) {
			events, err := m.Provider.Watch(ctx)
			if err != nil {
				return nil, err
			}
			out := make(chan runtime.Event)
			go func() {
				defer close(out)
				for e := range events {
					if !keep(e) {
						continue
					}
					select {
					case out <- e:
					case <-ctx.Done():
					}
				}
			}()
			return out, nil
		}
	}
}

func without(kind runtime.EventKind) func(m *modifiedFake) {
	return filtered(func(e runtime.Event) bool { return e.Kind != kind })
}

func observeMutants() map[string]func(m *modifiedFake) {
	return map[string]func(m *modifiedFake){
		"observe.alive": observed(func(_ *modifiedFake, _ string, obs *runtime.Observation) { obs.InstanceToken = "" }),
		"observe.missing": observed(func(_ *modifiedFake, _ string, obs *runtime.Observation) {
			if obs.Session == runtime.Dead {
				obs.Session, obs.Agent = runtime.Unknown, runtime.Unknown
			}
		}),
		"observe.exited": observed(func(_ *modifiedFake, _ string, obs *runtime.Observation) { obs.Exit = nil }),
		"observe.killed": observed(func(_ *modifiedFake, _ string, obs *runtime.Observation) {
			if obs.Exit != nil {
				obs.Exit.Signal, obs.Exit.Code = "", 137
			}
		}),
		"observe.renamed": observed(func(m *modifiedFake, name string, obs *runtime.Observation) {
			if !m.Provider.ProcessAlive(name, []string{"fake-agent"}) {
				obs.Agent = runtime.Dead
			}
		}),
		"observe.token": observed(func(_ *modifiedFake, _ string, obs *runtime.Observation) { obs.InstanceToken = rand.Text() }),

		"watch.resync": without(runtime.EventResync),
		"watch.life":   without(runtime.EventGone),
		"watch.crash":  without(runtime.EventExited),
		"watch.output": without(runtime.EventOutput),
		"watch.closed": func(m *modifiedFake) {
			m.watch = func(ctx context.Context) (<-chan runtime.Event, error) {
				events, err := m.Provider.Watch(ctx)
				out := make(chan runtime.Event, 1000)
				go func() {
					for e := range events {
						out <- e
					}
				}()
				return out, err
			}
		},
		"watch.slow": func(m *modifiedFake) {
			m.watch = func(ctx context.Context) (<-chan runtime.Event, error) {
				events, err := m.Provider.Watch(ctx)
				out := make(chan runtime.Event, 2)
				go func() {
					defer close(out)
					for e := range events {
						select {
						case out <- e:
						default: // lost silently
						}
					}
				}()
				return out, err
			}
		},
	}
}

// delivered changes deliveries and their outcomes.
func delivered(do func(m *modifiedFake, ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error)) func(m *modifiedFake) {
	return func(m *modifiedFake) {
		m.deliver = func(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
			return do(m, ctx, name, d)
		}
	}
}

func deliverMutants() map[string]func(m *modifiedFake) {
	submitted := runtime.Outcome{State: runtime.OutcomeSubmitted}
	return map[string]func(m *modifiedFake){
		"deliver.arrives": delivered(func(*modifiedFake, context.Context, string, runtime.Delivery) (runtime.Outcome, error) {
			return submitted, nil
		}),
		"deliver.absent": delivered(func(m *modifiedFake, ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
			return m.Provider.Deliver(ctx, m.firstWithPrefix(name), d)
		}),
		"deliver.instance": delivered(func(m *modifiedFake, ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
			d.Instance = ""
			return m.Provider.Deliver(ctx, name, d)
		}),
		"deliver.refused": delivered(func(m *modifiedFake, ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
			d.Content = runtime.TextContent(strings.ReplaceAll(runtime.FlattenText(d.Content), "\x1b", ""))
			return m.Provider.Deliver(ctx, name, d)
		}),
		"deliver.dialog": delivered(func(m *modifiedFake, ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
			if err := m.Provider.SendKeys(name, "Enter"); err != nil {
				return runtime.Outcome{}, err
			}
			return m.Provider.Deliver(ctx, name, d)
		}),
		"deliver.lost-enter": delivered(func(m *modifiedFake, ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
			if outcome, err := m.Provider.Deliver(ctx, name, d); err != nil {
				return outcome, err
			}
			return m.Provider.Deliver(ctx, name, d)
		}),
		"deliver.exited": delivered(func(m *modifiedFake, ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
			_, err := m.Provider.Deliver(ctx, name, d)
			return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
		}),
		"deliver.ctx": delivered(func(m *modifiedFake, ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
			return m.Provider.Deliver(context.WithoutCancel(ctx), name, d)
		}),
	}
}

// afterReopen breaks only the providers that were opened over an old world.
func afterReopen(breakIt func(m *modifiedFake)) func(m *modifiedFake) {
	return func(m *modifiedFake) {
		if m.reopened {
			breakIt(m)
		}
	}
}

func fenceMutants() map[string]func(m *modifiedFake) {
	recovers := func(err error) func(m *modifiedFake) {
		return func(m *modifiedFake) { m.recover = func(context.Context, string, string) error { return err } }
	}
	return map[string]func(m *modifiedFake){
		"fence.stop": func(m *modifiedFake) { m.stopInstance = func(context.Context, string, string) error { return nil } },
		"fence.stop-stale": func(m *modifiedFake) {
			m.stopInstance = func(ctx context.Context, name, token string) error {
				return errors.Join(m.Provider.StopInstance(ctx, name, token), m.Provider.Stop(name))
			}
		},
		"fence.stop-missing": func(m *modifiedFake) {
			m.stopInstance = func(_ context.Context, name, _ string) error { _, err := m.Provider.Peek(name, 0); return err }
		},
		"fence.interrupt": func(m *modifiedFake) {
			m.interruptInstance = func(_ context.Context, name, _ string) error { return m.Provider.Interrupt(name) }
		},
		"restart.adopts": afterReopen(func(m *modifiedFake) { m.list = func(string) ([]string, error) { return nil, nil } }),
		"restart.exists": afterReopen(func(m *modifiedFake) {
			m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
				return errors.Join(m.Provider.Stop(name), m.Provider.Start(ctx, name, cfg))
			}
		}),
		"restart.stops": afterReopen(func(m *modifiedFake) { m.stop = func(string) error { return nil } }),
		"restart.token": afterReopen(observed(func(_ *modifiedFake, _ string, obs *runtime.Observation) { obs.InstanceToken = "another" })),
		"restart.exited": afterReopen(func(m *modifiedFake) {
			m.peek = func(string, int) (string, error) { return "", runtime.ErrSessionNotFound }
		}),
		"recover.adopts":  recovers(runtime.ErrStaleInstance),
		"recover.stale":   recovers(nil),
		"recover.missing": recovers(nil),
	}
}

// sensed changes readings.
func sensed(change func(r *runtime.Reading)) func(m *modifiedFake) {
	return func(m *modifiedFake) {
		m.sense = func(ctx context.Context, name string) (runtime.Reading, error) {
			r, err := m.Provider.Sense(ctx, name)
			change(&r)
			return r, err
		}
	}
}

func extensionMutants() map[string]func(m *modifiedFake) {
	return map[string]func(m *modifiedFake){
		"pending.none": func(m *modifiedFake) {
			m.pending = func(string) (*runtime.PendingInteraction, error) { return &runtime.PendingInteraction{}, nil }
		},
		"pending.answer": func(m *modifiedFake) {
			m.pending = func(name string) (*runtime.PendingInteraction, error) {
				asked, err := m.Provider.Pending(name)
				if asked != nil {
					asked.Options = nil
				}
				return asked, err
			}
		},
		"pending.once": func(m *modifiedFake) {
			m.respond = func(name string, r runtime.InteractionResponse) error {
				r.RequestID = ""
				return m.Provider.Respond(name, r)
			}
		},
		"pending.refused": func(m *modifiedFake) {
			m.respond = func(name string, r runtime.InteractionResponse) error {
				if r.Text == "perhaps" {
					r.Text = "yes"
				}
				return m.Provider.Respond(name, r)
			}
		},
		"sense.rest": sensed(func(r *runtime.Reading) { r.Instance = "" }),
		"sense.busy": sensed(func(r *runtime.Reading) {
			r.Evidence = append(r.Evidence, runtime.Evidence{Source: runtime.SourceScreen, Activity: runtime.ActivityIdle})
		}),
		"sense.waiting": sensed(func(r *runtime.Reading) { r.Pending = nil }),
		"sense.missing": func(m *modifiedFake) {
			m.sense = func(context.Context, string) (runtime.Reading, error) { return runtime.Reading{}, nil }
		},
		"clearinput.draft": func(m *modifiedFake) { m.clearInput = func(context.Context, string, string) error { return nil } },
		"clearinput.stale": func(m *modifiedFake) {
			m.clearInput = func(ctx context.Context, name, _ string) error { return m.Provider.ClearInput(ctx, name, "") }
		},
		"hints.running": func(m *modifiedFake) {
			m.setHints = func(_ context.Context, name, _ string, _ runtime.Hints) error { return m.Provider.Stop(name) }
		},
		"hints.stale": func(m *modifiedFake) {
			m.setHints = func(ctx context.Context, name, _ string, hints runtime.Hints) error {
				return m.Provider.SetHints(ctx, name, "", hints)
			}
		},
		"withdraw.taken": func(m *modifiedFake) {
			m.withdraw = func(context.Context, string, runtime.Delivery) (bool, error) { return true, nil }
		},
		"withdraw.stale": func(m *modifiedFake) {
			m.withdraw = func(context.Context, string, runtime.Delivery) (bool, error) { return false, nil }
		},
		"respond.missing": func(m *modifiedFake) {
			m.respond = func(string, runtime.InteractionResponse) error { return nil }
		},
		"dialog.start": func(m *modifiedFake) {
			m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
				cfg.AcceptStartupDialogs, cfg.ReadyPromptPrefix = nil, ""
				return errors.Join(m.Provider.Start(ctx, name, cfg), m.Provider.SendKeys(name, "Enter"))
			}
		},
		"dialog.off": func(m *modifiedFake) {
			m.start = func(ctx context.Context, name string, cfg runtime.Config) error {
				return errors.Join(m.Provider.Start(ctx, name, cfg), m.Provider.SendKeys(name, "Down", "Enter"))
			}
		},
		"dialog.dismiss": func(m *modifiedFake) {
			m.dismiss = func(_ context.Context, name string, _ time.Duration) error { return m.Provider.SendKeys(name, "Enter") }
		},
		"dialog.missing": func(m *modifiedFake) {
			m.dismiss = func(context.Context, string, time.Duration) error { return nil }
		},
		"exec.runs": func(m *modifiedFake) {
			m.exec = func(ctx context.Context, name string, argv []string) ([]byte, int, error) {
				return m.Provider.Exec(ctx, name, []string{"sh", "-c", strings.Join(argv, " ")})
			}
		},
		"exec.missing": func(m *modifiedFake) {
			m.exec = func(context.Context, string, []string) ([]byte, int, error) { return nil, 0, nil }
		},
		"relaunch.replaces": func(m *modifiedFake) {
			m.relaunch = func(context.Context, string, runtime.Config) error { return nil }
		},
		"relaunch.missing": func(m *modifiedFake) { m.relaunch = m.Provider.Start },
		"boundary.seen": func(m *modifiedFake) {
			m.boundary = func(context.Context, string, time.Time, time.Duration) error { return context.DeadlineExceeded }
		},
		"boundary.timeout": func(m *modifiedFake) {
			m.boundary = func(context.Context, string, time.Time, time.Duration) error { return nil }
		},
		"reset.runs": func(m *modifiedFake) {
			m.reset = func(_ context.Context, name string) error { return m.Provider.SendKeys(name, "x", "Enter") }
		},
		"scan.finds": func(m *modifiedFake) {
			m.find = func(id string) ([]runtime.LiveRuntime, error) {
				all, err := m.Provider.FindRuntimesBySessionID("")
				return slices.DeleteFunc(all, func(r runtime.LiveRuntime) bool { return !strings.HasPrefix(r.SessionID, id) }), err
			}
		},
		"scan.none": func(m *modifiedFake) {
			m.find = func(id string) ([]runtime.LiveRuntime, error) { return []runtime.LiveRuntime{{SessionID: id}}, nil }
		},
		"scan.terminate": func(m *modifiedFake) { m.terminate = func(runtime.LiveRuntime) error { return nil } },
		"server.configure": func(m *modifiedFake) {
			m.configure = func() error {
				names, err := m.Provider.ListRunning("")
				for _, name := range names {
					err = errors.Join(err, m.Provider.Stop(name))
				}
				return err
			}
		},
		"server.teardown": func(m *modifiedFake) {
			m.teardown = func() error {
				if m.count++; m.count > 1 {
					return errors.New("no server running")
				}
				return nil
			}
		},
		"transport.known": func(m *modifiedFake) { m.transport = func(string) bool { return true } },
	}
}
