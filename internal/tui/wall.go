package tui

import "slices"

// The smallest tile of the wall.
const tileCols, tileRows = 38, 9

// wallGrid returns the number of tiles in a row and in a column.
func (m *Model) wallGrid() (across, down int) {
	body := layoutOf(m).body
	n := max(1, len(m.listed()))
	across, down = max(1, body.w/tileCols), max(1, body.h/tileRows)
	for across > 1 && (across-1)*down >= n { // fewer and wider tiles if all fit
		across--
	}
	for down > 1 && across*(down-1) >= n {
		down--
	}
	return across, down
}

// wallNames returns the agents on the visible part of the wall: the part with the selected one.
func (m *Model) wallNames() []string {
	names := m.listed()
	across, down := m.wallGrid()
	first := max(0, slices.Index(names, m.selected)) / (across * down) * across * down
	return window(names, first, across*down)
}

func (m *Model) drawWall(all area) {
	body := layoutOf(m).body
	a := all.part(0, 1, body.w, body.h+1)
	across, down := m.wallGrid()
	w, h := a.w/across, a.h/down
	for i, name := range m.wallNames() {
		agent := m.agent(name)
		if agent == nil {
			continue
		}
		x, y := i%across*w, i/across*h
		tile := a.part(x, y, w-1, h)
		if i%across == across-1 {
			tile = a.part(x, y, a.w-x, h)
		}
		tile.fill(0, "─", faint)
		m.drawHead(tile.part(1, 0, tile.w-1, 1), agent)
		if name == m.selected {
			tile.highlight()
		}
		shown := tile.part(0, 1, tile.w, tile.h-1)
		m.drawScreen(shown, agent, 0)
		if x > 0 {
			for line := range tile.h {
				a.set(x-1, y+line, "│", 1, faint)
			}
		}
		m.zone(tile, zone{agent: name, again: name == m.selected})
	}
}
