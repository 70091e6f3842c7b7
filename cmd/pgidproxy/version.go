package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCommand struct{}

// Run prints the version that the Go tool recorded in the program.
func (versionCommand) Run(env *environment) error {
	_, err := fmt.Fprintf(env.out, "pgidproxy %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version is the module's version, or (devel) and the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	v := info.Main.Version
	if v != "" && v != "(devel)" {
		return v
	}
	const short = 12
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) > short {
			return "(devel) " + s.Value[:short]
		}
	}
	return "(devel)"
}
