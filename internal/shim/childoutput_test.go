package shim

import "testing"

// TestOutputCountsUntilItIsHandled: output of the program counts while it is not read, and while the
// function of Follow handles it, because no screen shows it before.
func TestOutputCountsUntilItIsHandled(t *testing.T) {
	s, err := openStreams(&Spec{}) // pipes: what is written is what is read
	if err != nil {
		t.Fatal(err)
	}
	program := s.child[1]
	if s.HasOutput() {
		t.Error("a program that wrote nothing has output")
	}
	if _, err := program.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if !s.HasOutput() {
		t.Error("unread output does not count")
	}
	handled, more := make(chan struct{}), make(chan struct{})
	s.Follow(func([]byte) {
		handled <- struct{}{}
		<-more
	})
	<-handled
	if !s.HasOutput() {
		t.Error("output that is being handled does not count")
	}
	close(more)
	if _, err := program.WriteString("y"); err != nil { // it is handled after x
		t.Fatal(err)
	}
	<-handled
	if err := s.closeChild(); err != nil {
		t.Error(err)
	}
	<-s.drained
	if s.HasOutput() {
		t.Error("output counts after it was handled")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
