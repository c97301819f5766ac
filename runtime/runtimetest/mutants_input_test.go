package runtimetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"gascity/runtime"
)

// changed nudges another text.
func changed(change func(text string) string) func(m *modifiedFake) {
	return func(m *modifiedFake) {
		m.nudge = func(name string, content []block) error {
			return m.Provider.Nudge(name, runtime.TextContent(change(runtime.FlattenText(content))))
		}
	}
}

// quiet turns an error of a method on a session into success.
func quiet(sentinel, err error) error {
	if errors.Is(err, sentinel) {
		return nil
	}
	return err
}

func inspectorMutants() map[string]func(m *modifiedFake) {
	exists := func(m *modifiedFake) {
		m.isRunning = func(name string) bool { _, err := m.Provider.Peek(name, 0); return err == nil }
	}
	return map[string]func(m *modifiedFake){
		"running.missing": func(m *modifiedFake) {
			m.isRunning = func(name string) bool { return m.Provider.IsRunning(m.firstWithPrefix(name)) }
		},
		"running.exited": exists,
		"running.crash":  exists,
		"attached.none":  func(m *modifiedFake) { m.isAttached = func(string) bool { return true } },
		"attach.missing": func(m *modifiedFake) { m.attach = func(string) error { return nil } },
		"attach.options": func(m *modifiedFake) {
			m.attachTerminal = func(context.Context, string, runtime.AttachOptions) error { return nil }
		},
		"attach.no-terminal": func(m *modifiedFake) {
			m.attach = func(string) error { return nil }
			m.capabilities = func() runtime.ProviderCapabilities { return runtime.ProviderCapabilities{} }
		},
		"activity.missing": func(m *modifiedFake) { m.activity = func(string) (time.Time, error) { return time.Now(), nil } },
		"activity.output": func(m *modifiedFake) {
			at := time.Now()
			m.activity = func(string) (time.Time, error) { return at, nil }
		},
		"capabilities.constant": func(m *modifiedFake) {
			m.capabilities = func() runtime.ProviderCapabilities {
				names, err := m.Provider.ListRunning("")
				return runtime.ProviderCapabilities{CanStream: err == nil && len(names) > 0}
			}
		},
		"process.empty": func(m *modifiedFake) {
			m.processAlive = func(name string, names []string) bool { return len(names) > 0 && m.Provider.ProcessAlive(name, names) }
		},
		"process.match": func(m *modifiedFake) { m.processAlive = func(string, []string) bool { return true } },
		"process.exact": func(m *modifiedFake) {
			m.processAlive = func(_ string, names []string) bool {
				return slices.ContainsFunc(names, func(n string) bool { return len(n) > 4 })
			}
		},
		"process.renamed": func(m *modifiedFake) { m.processAlive = func(string, []string) bool { return false } },
		"process.missing": func(m *modifiedFake) {
			m.processAlive = func(name string, names []string) bool { return m.Provider.ProcessAlive(m.firstWithPrefix(name), names) }
		},
		"list.prefix": func(m *modifiedFake) {
			m.list = func(prefix string) ([]string, error) {
				names, err := m.Provider.ListRunning(prefix)
				slices.Reverse(names)
				return names, err
			}
		},
		"list.all": func(m *modifiedFake) {
			m.list = func(prefix string) ([]string, error) {
				if prefix == "" {
					return nil, nil
				}
				return m.Provider.ListRunning(prefix)
			}
		},
		"list.none": func(m *modifiedFake) {
			m.list = func(prefix string) ([]string, error) {
				names, err := m.Provider.ListRunning(prefix)
				if len(names) == 0 {
					err = runtime.ErrSessionNotFound
				}
				return names, err
			}
		},
		"list.running": func(m *modifiedFake) {
			m.list = func(string) ([]string, error) {
				var names []string
				for _, call := range m.Provider.Calls("Start") {
					names = append(names, call.Name)
				}
				return names, nil
			}
		},
	}
}

func inputMutants() map[string]func(m *modifiedFake) {
	return map[string]func(m *modifiedFake){
		"nudge.missing": func(m *modifiedFake) {
			m.nudge = func(name string, content []block) error {
				return quiet(runtime.ErrSessionNotFound, m.Provider.Nudge(name, content))
			}
		},
		"nudge.exact": func(m *modifiedFake) {
			m.nudge = func(name string, content []block) error { return m.Provider.Nudge(m.firstWithPrefix(name), content) }
		},
		"nudge.exited": func(m *modifiedFake) { m.nudge = func(string, []block) error { return nil } },
		"nudge.empty": changed(func(text string) string {
			if text == "" {
				return "\n"
			}
			return text
		}),
		"nudge.blocks": func(m *modifiedFake) {
			m.nudge = func(name string, content []block) error {
				var errs []error
				for _, b := range content {
					errs = append(errs, m.Provider.Nudge(name, []block{b}))
				}
				return errors.Join(errs...)
			}
		},
		"nudge.text": changed(func(text string) string { return strings.ReplaceAll(text, "\n", " ") }),
		"nudge.odd":  changed(func(text string) string { return strings.TrimSuffix(text, ";") }),
		"nudge.size": changed(func(text string) string { return text[:min(len(text), 4096)] }),
		"nudge.control": changed(func(text string) string {
			return strings.Map(func(r rune) rune {
				if r < ' ' || r == 0x7f {
					return ' '
				}
				return r
			}, text)
		}),
		"nudge.order": func(m *modifiedFake) {
			m.nudge = func(name string, content []block) error {
				m.texts = append(m.texts, runtime.FlattenText(content))
				if len(m.texts) < 5 {
					return nil
				}
				var errs []error
				for _, text := range slices.Backward(m.texts) {
					errs = append(errs, m.Provider.Nudge(name, runtime.TextContent(text)))
				}
				return errors.Join(errs...)
			}
		},
		"nudge.concurrent": func(m *modifiedFake) {
			m.nudge = func(name string, content []block) error {
				m.mu.Lock()
				defer m.mu.Unlock()
				if m.texts = append(m.texts, runtime.FlattenText(content)); len(m.texts)%2 == 1 {
					return nil
				}
				return m.Provider.Nudge(name, runtime.TextContent(strings.Join(m.texts[len(m.texts)-2:], "")))
			}
		},
		"nudge.now": func(m *modifiedFake) {
			m.nudgeNow = func(name string, content []block) error {
				if err := m.Provider.WaitForIdle(context.Background(), name, time.Minute); err != nil { //nolint:forbidigo // the method has no ctx
					return err
				}
				return m.Provider.Nudge(name, content)
			}
		},
		"idle.ready": func(m *modifiedFake) {
			m.waitForIdle = func(context.Context, string, time.Duration) error { return context.DeadlineExceeded }
		},
		"idle.busy": func(m *modifiedFake) {
			m.waitForIdle = func(context.Context, string, time.Duration) error { return nil }
		},
		"idle.missing": func(m *modifiedFake) {
			m.waitForIdle = func(context.Context, string, time.Duration) error { return context.DeadlineExceeded }
		},
		"keys.missing": func(m *modifiedFake) {
			m.sendKeys = func(name string, keys ...string) error { return m.Provider.SendKeys(m.firstWithPrefix(name), keys...) }
		},
		"keys.text": func(m *modifiedFake) {
			m.sendKeys = func(name string, keys ...string) error { return m.Provider.SendKeys(name, append(keys, "Enter")...) }
		},
		"keys.unknown": func(m *modifiedFake) {
			m.sendKeys = func(name string, keys ...string) error {
				var errs []error
				for _, key := range keys {
					errs = append(errs, m.Provider.SendKeys(name, key))
				}
				return errors.Join(errs...)
			}
		},
		"keys.interrupt": func(m *modifiedFake) { m.sendKeys = func(string, ...string) error { return nil } },
	}
}
