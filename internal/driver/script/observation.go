package script

import "gascity/runtime"

// Observation is the document that the operation observe prints, and each line of observe-all. It contains the instance token,
// so it must never be logged.
type Observation struct {
	Name     string `json:"name,omitempty"` // name of the session
	Instance string `json:"instance,omitempty"`
	Handle   string `json:"handle,omitempty"`
	runtime.Observation
}

// NewObservation returns the document for an observation of a session.
func NewObservation(name string, obs runtime.Observation) Observation {
	return Observation{Name: name, Instance: obs.InstanceToken, Handle: obs.Handle, Observation: obs}
}

// Seen returns the observation that the document describes.
func (o Observation) Seen() runtime.Observation {
	obs := o.Observation
	obs.InstanceToken, obs.Handle = o.Instance, o.Handle
	return obs
}
