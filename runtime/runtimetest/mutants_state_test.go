package runtimetest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"gascity/runtime"
)

func outputMutants() map[string]func(m *modifiedFake) {
	return map[string]func(m *modifiedFake){
		"peek.output": func(m *modifiedFake) { m.peek = func(string, int) (string, error) { return "", nil } },
		"peek.lines": func(m *modifiedFake) {
			m.peek = func(name string, _ int) (string, error) { return m.Provider.Peek(name, 0) }
		},
		"peek.scrollback": func(m *modifiedFake) {
			m.peek = func(name string, lines int) (string, error) {
				if lines <= 0 {
					lines = 50
				}
				return m.Provider.Peek(name, lines)
			}
		},
		"peek.exited": func(m *modifiedFake) {
			m.peek = func(name string, lines int) (string, error) {
				if !m.Provider.IsRunning(name) {
					return "", runtime.ErrSessionNotFound
				}
				return m.Provider.Peek(name, lines)
			}
		},
		"peek.missing": func(m *modifiedFake) {
			m.peek = func(name string, lines int) (string, error) {
				out, err := m.Provider.Peek(name, lines)
				return out, quiet(runtime.ErrSessionNotFound, err)
			}
		},
		"clear.scrollback": func(m *modifiedFake) { m.clear = func(string) error { return nil } },
		"clear.missing": func(m *modifiedFake) {
			m.clear = func(name string) error { _, err := m.Provider.Peek(name, 0); return err }
		},
	}
}

func metaMutants() map[string]func(m *modifiedFake) {
	return map[string]func(m *modifiedFake){
		"meta.round-trip": func(m *modifiedFake) {
			m.setMeta = func(name, key, value string) error {
				if old, err := m.Provider.GetMeta(name, key); err != nil || old != "" {
					return err
				}
				return m.Provider.SetMeta(name, key, value)
			}
		},
		"meta.unset": func(m *modifiedFake) {
			m.getMeta = func(name, key string) (string, error) {
				value, err := m.Provider.GetMeta(name, key)
				if value == "" && err == nil {
					err = errors.New("no such key")
				}
				return value, err
			}
		},
		"meta.remove": func(m *modifiedFake) {
			m.removeMeta = func(name, key string) error {
				if value, err := m.Provider.GetMeta(name, key); value == "" && err == nil {
					return errors.New("no such key")
				}
				return m.Provider.RemoveMeta(name, key)
			}
		},
		"meta.values": func(m *modifiedFake) {
			m.getMeta = func(name, key string) (string, error) {
				value, err := m.Provider.GetMeta(name, key)
				return strings.TrimSpace(value), err
			}
		},
		"meta.keys": func(m *modifiedFake) {
			m.setMeta = func(name, key, value string) error { return m.Provider.SetMeta(name, strings.ToLower(key), value) }
			m.getMeta = func(name, key string) (string, error) { return m.Provider.GetMeta(name, strings.ToLower(key)) }
		},
		"meta.missing": func(m *modifiedFake) {
			m.getMeta = func(name, key string) (string, error) {
				value, err := m.Provider.GetMeta(name, key)
				return value, quiet(runtime.ErrSessionNotFound, err)
			}
		},
		"meta.own": func(m *modifiedFake) {
			m.setMeta = func(_, key, value string) error { m.notes[key] = value; return nil }
			m.getMeta = func(_, key string) (string, error) { return m.notes[key], nil }
		},
		"meta.incarnation": func(m *modifiedFake) {
			m.setMeta = func(name, key, value string) error {
				m.notes[name+key] = value
				return m.Provider.SetMeta(name, key, value)
			}
			m.getMeta = func(name, key string) (string, error) {
				_, err := m.Provider.GetMeta(name, key)
				return m.notes[name+key], err
			}
		},
	}
}

// workDir returns that of the first session that was started.
func (m *modifiedFake) workDir() string {
	cfg, _ := m.Provider.Calls("Start")[0].Args[0].(runtime.Config)
	return cfg.WorkDir
}

func stagerMutants() map[string]func(m *modifiedFake) {
	return map[string]func(m *modifiedFake){
		"copy.file": func(m *modifiedFake) {
			m.copyTo = func(name, src, relDst string) error { return m.Provider.CopyTo(name, src, filepath.Base(relDst)) }
		},
		"copy.missing": func(m *modifiedFake) {
			m.copyTo = func(name, src, relDst string) error { return m.Provider.CopyTo(m.firstWithPrefix(name), src, relDst) }
		},
		"copy.escape": func(m *modifiedFake) {
			m.copyTo = func(_, src, relDst string) error {
				data, err := os.ReadFile(src)
				if err != nil {
					return err
				}
				if strings.Contains(relDst, "..") {
					return errors.New("dots are refused")
				}
				return os.WriteFile(filepath.Join(m.workDir(), relDst), data, 0o600)
			}
		},
		"live.runs": func(m *modifiedFake) { m.runLive = func(string, runtime.Config) error { return nil } },
		"live.failure": func(m *modifiedFake) {
			m.runLive = func(name string, cfg runtime.Config) error {
				cfg.SessionLive = cfg.SessionLive[:1]
				return m.Provider.RunLive(name, cfg)
			}
		},
		"live.missing": func(m *modifiedFake) {
			m.runLive = func(name string, cfg runtime.Config) error {
				return quiet(runtime.ErrSessionNotFound, m.Provider.RunLive(name, cfg))
			}
		},
	}
}
