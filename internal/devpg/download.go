package devpg

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// downloaded is the version that download fetches.
const downloaded = embedded.V17

// download fetches server programs into the user's cache. The library knows no
// way to only fetch: it starts a server of its own, which is stopped at once,
// and which as root it never gets to start, with the programs there all the
// same.
func download() (Binaries, error) {
	cache := "/var/cache"
	if os.Geteuid() != 0 {
		var err error
		if cache, err = os.UserCacheDir(); err != nil {
			return Binaries{}, fmt.Errorf("fetch PostgreSQL: %w", err)
		}
	}
	dir := filepath.Join(cache, "pgidproxy", "postgres-"+string(downloaded))
	if b, err := inspect(filepath.Join(dir, "bin")); err == nil {
		return b, nil
	}
	scratch, err := os.MkdirTemp("", "pgidproxy-fetch-")
	if err != nil {
		return Binaries{}, fmt.Errorf("fetch PostgreSQL: %w", err)
	}
	defer os.RemoveAll(scratch)
	port, err := freePort()
	if err != nil {
		return Binaries{}, fmt.Errorf("fetch PostgreSQL: %w", err)
	}
	db := embedded.NewDatabase(embedded.DefaultConfig().Version(downloaded).Port(uint32(port)).Logger(io.Discard).
		CachePath(scratch).RuntimePath(filepath.Join(scratch, "run")).BinariesPath(dir))
	err = db.Start()
	if err == nil {
		err = db.Stop()
	}
	b, ierr := inspect(filepath.Join(dir, "bin"))
	if ierr == nil {
		return b, nil
	}
	if err == nil {
		err = ierr
	}
	return Binaries{}, fmt.Errorf("fetch PostgreSQL: %w", err)
}
