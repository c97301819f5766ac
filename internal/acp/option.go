package acp

import "encoding/json"

// Options are the options of a session that can be set. Those that cannot be decoded are left out.
type Options []ConfigOption

// ConfigOption is one option of a session that can be set.
type ConfigOption struct {
	ID       string
	Category string
	Value    string   // the current value, if the values have names
	Values   []string // the possible values, including those in groups
}

// categoryMode is the category of the option for the agent's mode.
const categoryMode = "mode"

// Mode returns the option for the agent's mode; ok is false if the session has none.
func (o Options) Mode() (mode ConfigOption, ok bool) {
	for _, one := range o {
		if one.Category == categoryMode || one.ID == categoryMode {
			return one, true
		}
	}
	return ConfigOption{}, false
}

// UnmarshalJSON decodes a list of options and leaves out what has another form than expected. It
// implements json.Unmarshaler.
func (o *Options) UnmarshalJSON(raw []byte) error {
	var all []json.RawMessage
	read(raw, &all)
	*o = nil
	for _, one := range all {
		var m struct {
			ConfigID string            `json:"configId"`
			ID       string            `json:"id"` // in version 1
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

// valuesOf returns the value in an element of an option's list, or all values if the element is a
// group.
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
