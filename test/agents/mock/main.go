// Command mock serves the mock model of package mockmodel until it is
// interrupted: mock [ADDRESS]. It prints its base URL.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"gascity/test/agents/mockmodel"
)

func main() {
	address := "127.0.0.1:0"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	server, err := mockmodel.Listen(address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mock:", err)
		os.Exit(1)
	}
	fmt.Println(server.URL(""))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	_ = server.Close() // the process ends with it
}
