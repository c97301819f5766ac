package engine_test

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"gascity/internal/service/engine"
)

func TestEachKeyIsPoppedOnce(t *testing.T) {
	q := engine.NewQueue()
	q.Add("b")
	q.Add("a")
	q.Add("b")
	<-q.Woken()
	if got := q.PopAll(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("popped %q, want a and b", got)
	}
	if got := q.PopAll(); len(got) != 0 {
		t.Errorf("popped %q again", got)
	}
	select {
	case <-q.Woken():
		t.Error("woken without a reason")
	default:
	}
	q.Wake()
	<-q.Woken()
}

// A goroutine that calls PopAll each time that it is woken gets every key, while other goroutines add keys.
func TestNoAddedKeyIsLost(t *testing.T) {
	const writers, each = 8, 500
	q := engine.NewQueue()
	var adding sync.WaitGroup
	for w := range writers {
		adding.Go(func() {
			for i := range each {
				q.Add(strconv.Itoa(w) + "." + strconv.Itoa(i))
			}
		})
	}
	popped := map[string]int{}
	for len(popped) < writers*each {
		<-q.Woken()
		for _, key := range q.PopAll() {
			popped[key]++
		}
	}
	adding.Wait()
	for key, n := range popped {
		if n != 1 {
			t.Errorf("%s was popped %d times", key, n)
		}
	}
}
