package acp

import "encoding/json"

// Options are what can be chosen for a session. Those that cannot be read are left out.
type Options []ConfigOption

// ConfigOption is one of them.
type ConfigOption struct {
	ID       string
	Category string
	Value    string   // the present one, of an option with named values
	Values   []string // that it can have, also of groups
}

// categoryMode marks the option that says how the agent works.
const categoryMode = "mode"

// Mode returns the option that says how the agent works; ok is false if there is none.
func (o Options) Mode() (mode ConfigOption, ok bool) {
	for _, one := range o {
		if one.Category == categoryMode || one.ID == categoryMode {
			return one, true
		}
	}
	return ConfigOption{}, false
}

// UnmarshalJSON reads what it can.
func (o *Options) UnmarshalJSON(raw []byte) error {
	var all []json.RawMessage
	read(raw, &all)
	*o = nil
	for _, one := range all {
		var m struct {
			ConfigID string            `json:"configId"`
			ID       string            `json:"id"` // of version 1
			Category string            `json:"category"`
			Value    json.RawMessage   `json:"currentValue"`
			Values   []json.RawMessage `json:"options"`
		}
		read(one, &m)
		if m.ConfigID == "" {
			m.ConfigID = m.ID
		}
		option := ConfigOption{ID: m.ConfigID, Category: m.Category}
		read(m.Value, &option.Value)
		for _, v := range m.Values {
			option.Values = append(option.Values, valuesOf(v)...)
		}
		*o = append(*o, option)
	}
	return nil
}

// valuesOf reads a value, or those of a group of them.
func valuesOf(raw json.RawMessage) (all []string) {
	var v struct {
		Value   string            `json:"value"`
		Options []json.RawMessage `json:"options"`
	}
	if read(raw, &v); v.Value != "" {
		all = append(all, v.Value)
	}
	for _, inner := range v.Options {
		all = append(all, valuesOf(inner)...)
	}
	return all
}
