package e2e

import (
	"testing"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// eachServer runs a test on every version of PostgreSQL that there is.
func eachServer(t *testing.T, f func(t *testing.T, s server)) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) { f(t, s) })
}
