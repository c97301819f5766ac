package workqueue_test

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"gascity/internal/workqueue"
)

func TestEachKeyIsTakenOnce(t *testing.T) {
	s := workqueue.NewQueue()
	s.Add("b")
	s.Add("a")
	s.Add("b")
	<-s.Woken()
	if got := s.PopAll(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("took %q, want a and b", got)
	}
	if got := s.PopAll(); len(got) != 0 {
		t.Errorf("took %q again", got)
	}
	select {
	case <-s.Woken():
		t.Error("woken for nothing")
	default:
	}
	s.Wake()
	<-s.Woken()
}

// However marks and takes race, no mark is lost: who takes whenever it is woken gets
// every key.
func TestNoMarkIsLost(t *testing.T) {
	const writers, each = 8, 500
	s := workqueue.NewQueue()
	var marking sync.WaitGroup
	for w := range writers {
		marking.Go(func() {
			for i := range each {
				s.Add(strconv.Itoa(w) + "." + strconv.Itoa(i))
			}
		})
	}
	taken := map[string]int{}
	for len(taken) < writers*each {
		<-s.Woken()
		for _, key := range s.PopAll() {
			taken[key]++
		}
	}
	marking.Wait()
	for key, n := range taken {
		if n != 1 {
			t.Errorf("%s was taken %d times", key, n)
		}
	}
}
