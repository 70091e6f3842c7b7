package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pgidproxy/pgidproxy/"

// allowed are the packages of ours that each may import: one way only. This
// program alone knows everyone.
var allowed = map[string][]string{
	"gen":                {},
	"gen/lease":          {"gen"},
	"gen/lease/file":     {"gen/lease"},
	"gen/lease/postgres": {"gen/lease"},
	"gen/lease/redis":    {"gen/lease"},
	"gen/lease/etcd":     {"gen/lease"},
	"rewrite":            {"gen"},
	"wire":               {"gen", "rewrite"},
	"sql":                {"gen", "rewrite"},
	"internal/admin":     {"gen/lease", "rewrite", "sql", "wire"},
	"internal/bench":     {"sql"},
	"internal/devpg":     {},
	"internal/migrate":   {"gen"},
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports", ".")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errors.Unwrap(err))
	}
	packages := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := packages.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(p.ImportPath, "testcontainers") || strings.HasSuffix(p.ImportPath, "devpgtest") {
			t.Errorf("the program holds %s", p.ImportPath)
		}
		// One of this library's files has a test's content but not its name.
		if slices.Contains(p.Imports, "testing") && p.ImportPath != "github.com/fergusstrange/embedded-postgres" {
			t.Errorf("%s imports testing", p.ImportPath)
		}
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || name == "cmd/pgidproxy" {
			continue
		}
		seen++
		may, known := allowed[name]
		if !known {
			t.Errorf("%s is a new package: say what it may import", name)
		}
		for _, path := range p.Imports {
			if of, ours := strings.CutPrefix(path, module); ours && !slices.Contains(may, of) {
				t.Errorf("%s imports %s", name, of)
			}
		}
	}
	if seen != len(allowed) {
		t.Errorf("got %d packages of ours, want %d", seen, len(allowed))
	}
}
