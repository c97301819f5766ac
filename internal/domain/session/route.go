package session

import "slices"

// Route returns the shortest list of expected triggers that leads from one state to another. It is
// nil if there is none, and empty if the states are equal.
func Route(from, to State) []Trigger {
	if !from.IsValid() {
		from = StateUnknown
	}
	ways := map[State][]Trigger{from: {}}
	for queue := []State{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			return ways[at]
		}
		for _, t := range Triggers() {
			next, err := Next(at, t)
			if _, seen := ways[next]; err != nil || seen {
				continue
			}
			ways[next] = append(slices.Clone(ways[at]), t)
			queue = append(queue, next)
		}
	}
	return nil
}
