package storetest

import (
	"testing"
	"time"
)

func TestConformanceOfMemory(t *testing.T) {
	Run(t, Harness{New: func(*testing.T) Stores { return Memory(time.Now) }})
}

func TestConformanceOfFaultyThatWorks(t *testing.T) {
	Run(t, Harness{New: func(*testing.T) Stores {
		f := NewFaulty(Memory(time.Now))
		return Stores{f, f, f, f, f, f, f}
	}})
}
