package postgres_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain lets more tests run at a time than there are processors, unless told
// otherwise: they wait for servers and leases more than they work.
func TestMain(m *testing.M) {
	flag.Parse()
	const name = "test.parallel"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if !given {
		if err := flag.Set(name, "8"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
