package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// TestMain lets tests run this program as pgidproxy, which is on their PATH.
func TestMain(m *testing.M) {
	testscript.Main(m, programs)
}

// programs are what this test's program can be run as.
var programs = map[string]func(){"pgidproxy": main}

// The scripts run the program as a user does. They have two commands more:
// database makes a database and sets URL to it, sql runs statements there.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"database": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Setenv("URL", devpgtest.Database(t))
			},
			"sql": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(execSQL(t.Context(), ts.Getenv("URL"), args[0]))
			},
		},
	})
}
