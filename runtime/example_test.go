package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// One session from its start to its end. The provider is a fake in memory; any
// other behaves the same.
func ExampleProvider() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var provider runtime.Provider = fake.New()

	cfg := runtime.Config{Command: "agent --yes", ReadyPromptPrefix: "❯"}
	if err := provider.Start(ctx, "gc-city-mayor", cfg); err != nil {
		fmt.Println(err)
		return
	}
	err := provider.Start(ctx, "gc-city-mayor", cfg)
	fmt.Println("a second start:", errors.Is(err, runtime.ErrSessionExists))

	// Whatever is done later names the instance that it is meant for.
	seen, err := runtime.Observe(ctx, provider, "gc-city-mayor")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the agent is", seen.Agent)

	outcome, err := runtime.Deliver(ctx, provider, "gc-city-mayor", runtime.Delivery{
		Instance: seen.InstanceToken,
		Content:  runtime.TextContent("What is to be done?"),
	})
	fmt.Println("the prompt is", outcome.State, err)
	screen, err := provider.Peek("gc-city-mayor", 2)
	fmt.Printf("%s\n%v\n", screen, err)

	fmt.Println("another's token:", errors.Is(runtime.StopInstance(ctx, provider, "gc-city-mayor", "stale"), runtime.ErrStaleInstance))
	fmt.Println("stopped:", runtime.StopInstance(ctx, provider, "gc-city-mayor", seen.InstanceToken))
	seen, err = runtime.Observe(ctx, provider, "gc-city-mayor")
	fmt.Println("the session is", seen.Session, err)
	// Output:
	// a second start: true
	// the agent is alive
	// the prompt is submitted <nil>
	// You said (19 bytes): What is to be done?
	// ❯
	// <nil>
	// another's token: true
	// stopped: <nil>
	// the session is dead <nil>
}
