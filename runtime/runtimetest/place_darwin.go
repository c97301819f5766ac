package runtimetest

// isZombie does not know it without the kernel's process table; a zombie counts
// as alive until its parent has reaped it.
func isZombie(int) bool { return false }
