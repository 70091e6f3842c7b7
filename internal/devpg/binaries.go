package devpg

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// BinVariable names the environment variable with the directory of PostgreSQL's
// server programs.
const BinVariable = "PGIDPROXY_POSTGRES_BIN"

// oldest is the oldest major version that the functions support.
const oldest = 14

// ErrNoServer is returned when this machine has no PostgreSQL server programs.
var ErrNoServer = errors.New("no PostgreSQL server programs found: install them (on Debian and Ubuntu: apt-get install postgresql), or name their directory with --postgres-bin or " + BinVariable)

// Binaries are the programs of one PostgreSQL installation.
type Binaries struct {
	Dir   string // holds initdb and postgres
	Major int    // 14 and later
}

// Find returns the server programs in dir if one is given, else those that
// Installed finds, else downloads some (github.com/fergusstrange/embedded-postgres).
func Find(dir string) (Binaries, error) {
	b, err := Installed(dir)
	if !errors.Is(err, ErrNoServer) {
		return b, err
	}
	b, derr := download()
	if derr != nil {
		return Binaries{}, fmt.Errorf("%w; fetching PostgreSQL instead did not work either: %v", err, derr)
	}
	return b, nil
}

// Installed is Find without a download. It looks into dir or else the directory
// named by PGIDPROXY_POSTGRES_BIN; if neither is given at the PATH and at the
// places where packages put the server, of which the newest wins.
func Installed(dir string) (Binaries, error) {
	if dir == "" {
		dir = os.Getenv(BinVariable)
	}
	if dir != "" {
		return inspect(dir)
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			if b, err := inspect(filepath.Dir(path)); err == nil {
				return b, nil
			}
		}
	}
	var found []Binaries
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/lib/postgresql*/bin", "/usr/libexec/postgresql*",
		"/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		dirs, _ := filepath.Glob(pattern) // the patterns are well formed
		for _, d := range dirs {
			if b, err := inspect(d); err == nil {
				found = append(found, b)
			}
		}
	}
	if len(found) == 0 {
		return Binaries{}, ErrNoServer
	}
	return slices.MaxFunc(found, func(a, b Binaries) int { return a.Major - b.Major }), nil
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// inspect checks that dir holds a server of a version that will do.
func inspect(dir string) (Binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Binaries{}, fmt.Errorf("find PostgreSQL: %w", err)
	}
	b := Binaries{Dir: dir}
	for _, program := range []string{"initdb", "postgres"} {
		if _, err := os.Stat(b.path(program)); err != nil {
			return Binaries{}, fmt.Errorf("find PostgreSQL's server programs: %w", err)
		}
	}
	cmd := exec.Command(b.path("postgres"), "--version")
	cmd.Env = b.environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return Binaries{}, fmt.Errorf("run %s: %w: %s", b.path("postgres"), err, strings.TrimSpace(string(out)))
	}
	m := versionText.FindSubmatch(out)
	if m == nil {
		return Binaries{}, fmt.Errorf("run %s: not a version: %q", b.path("postgres"), out)
	}
	if b.Major, err = strconv.Atoi(string(m[1])); err != nil || b.Major < oldest {
		return Binaries{}, fmt.Errorf("PostgreSQL %s in %s is too old: %d or later is needed", m[1], dir, oldest)
	}
	return b, nil
}

func (b Binaries) path(program string) string { return filepath.Join(b.Dir, program) }

// environment is ours without the variables that PostgreSQL's programs listen
// to, with messages in English, and with the libraries of a relocatable build
// to be found.
func (b Binaries) environment() []string {
	var env []string
	library := filepath.Join(filepath.Dir(b.Dir), "lib")
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(name, "PG"), strings.HasPrefix(name, "LC_"), name == "LANG", name == "LANGUAGE":
		case name == "LD_LIBRARY_PATH":
			library += string(os.PathListSeparator) + value
		default:
			env = append(env, v)
		}
	}
	return append(env, "LC_ALL=C", "LD_LIBRARY_PATH="+library)
}
