package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/postgres"
	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

const role = `a "role" of nothing`

// as is a URL for another role.
func as(t *testing.T, address, role string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "hunter2")
	return u.String()
}

// setupError wants an error that trying again does not cure, and returns what is
// to be done about it.
func setupError(t *testing.T, what string, err error) (hint string) {
	t.Helper()
	var setup *lease.SetupError
	if !errors.As(err, &setup) {
		t.Fatalf("%s: got %v", what, err)
	}
	if !strings.Contains(err.Error(), setup.Hint) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%s: got %q", what, err)
	}
	return setup.Hint
}

// A role without rights is told which ones it needs, and they suffice.
func TestRights(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		s = devpgtest.PrivateLike(t, s, nil)
		admin := s.URL(devpg.Superuser)
		conn := connect(t, admin)
		quoted := pgx.Identifier{role}.Sanitize()
		exec(t, conn, "CREATE ROLE "+quoted+" LOGIN", "REVOKE CONNECT ON DATABASE postgres FROM PUBLIC")
		address := as(t, admin, role)
		store := open(t, address)
		_, err := store.Load(t.Context())
		if hint := setupError(t, "without CONNECT", err); !strings.Contains(hint, "GRANT CONNECT") {
			t.Errorf("got %q", hint)
		} else {
			exec(t, conn, hint[strings.Index(hint, "GRANT"):])
		}
		_, err = store.Load(t.Context())
		if hint := setupError(t, "without tables", err); !strings.Contains(hint, "pgidproxy install") {
			t.Errorf("got %q", hint)
		}
		if err := postgres.Create(t.Context(), connect(t, address)); err == nil || !strings.Contains(err.Error(), "permission denied for database") {
			t.Errorf("Create without rights: got %v", err)
		}
		if err := postgres.Create(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		if err := postgres.Create(t.Context(), connect(t, address)); err != nil {
			t.Errorf("Create of what is there: %v", err)
		}
		_, err = store.Load(t.Context())
		setupError(t, "Load without rights", err)
		_, err = store.Swap(t.Context(), swapOf("e", "", "t1"))
		setupError(t, "Swap without rights", err)
		hint := setupError(t, "Found without rights", store.Found(t.Context(), "", lease.Head{ID: "r", Era: "e"}, 0))
		exec(t, conn, "REVOKE USAGE ON SCHEMA pgid FROM PUBLIC", hint[strings.Index(hint, "GRANT"):])
		era := begun(t, store)
		swap(t, store, swapOf(era, "", "t1"), nil)
		swap(t, store, swapOf(era, "t1", "t2"), nil)
		begun(t, store)
		exec(t, conn, "REVOKE INSERT, UPDATE ON pgid.registry, pgid.node FROM "+quoted)
		if _, err := store.Load(t.Context()); err != nil {
			t.Errorf("a role that may only read: %v", err)
		}

		nowhere := strings.Replace(address, "/postgres?", "/nowhere?", 1)
		_, err = open(t, nowhere).Load(t.Context())
		setupError(t, "no such database", err)
		_, err = open(t, as(t, admin, "nobody")).Load(t.Context())
		setupError(t, "no such role", err)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Load(t.Context()); err == nil || strings.Contains(err.Error(), "hunter2") || errors.As(err, new(*lease.SetupError)) {
			t.Errorf("without a server: got %v", err)
		}
	})
}

// A role that may not ask which server it is on keeps a registry with others of
// its kind. With roles that may, it is told what it needs.
func TestIdentityRights(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		s = devpgtest.PrivateLike(t, s, nil)
		admin := s.URL(devpg.Superuser)
		create(t, admin)
		conn := connect(t, admin)
		quoted := pgx.Identifier{role}.Sanitize()
		exec(t, conn, "CREATE ROLE "+quoted+" LOGIN", "GRANT SELECT, INSERT, UPDATE ON pgid.registry, pgid.node TO "+quoted,
			"REVOKE EXECUTE ON FUNCTION pg_control_system(), pg_walfile_name(pg_lsn) FROM PUBLIC")
		weak, strong := open(t, as(t, admin, role)), open(t, admin)
		era := begun(t, weak)
		swap(t, weak, swapOf(era, "", "t1"), nil)
		first, err := (&lease.Registry{Store: weak}).Open(t.Context())
		if err != nil || first.Head.Era != era {
			t.Errorf("got %+v, %v", first.Head, err)
		}
		second, err := (&lease.Registry{Store: strong}).Open(t.Context())
		if err != nil || second.Head.ID != first.Head.ID || second.Head.Era == era || second.Wait == 0 {
			t.Errorf("got %+v, %v", second.Head, err)
		}
		swap(t, weak, swapOf(era, "t1", "t2"), lease.ErrEra)
		swap(t, weak, swapOf(second.Head.Era, "t1", "t2"), lease.ErrEra)
		_, err = weak.Load(t.Context())
		exec(t, conn, setupError(t, "less rights than others", err))
		third, err := (&lease.Registry{Store: weak}).Open(t.Context())
		if err != nil || *third.Head != *second.Head {
			t.Errorf("got %+v, %v, want %+v", third.Head, err, second.Head)
		}
		swap(t, weak, swapOf(second.Head.Era, "t1", "t2"), nil)
	})
}

// Several may make the tables at once; a role needs no more rights than it says;
// and nobody is let in by default privileges.
func TestCreate(t *testing.T) {
	t.Parallel()
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		s = devpgtest.PrivateLike(t, s, nil)
		admin := s.URL(devpg.Superuser)
		conn := connect(t, admin)
		quoted := pgx.Identifier{role}.Sanitize()
		exec(t, conn, "CREATE ROLE "+quoted+" LOGIN", "CREATE ROLE other",
			"ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC, other, "+quoted,
			"ALTER DEFAULT PRIVILEGES FOR ROLE "+quoted+" GRANT ALL ON TABLES TO PUBLIC, other")
		rights := "SELECT coalesce(string_agg(a.grantee::regrole::text || ' ' || a.privilege_type, ', '), '') FROM pg_class c, aclexplode(c.relacl) a WHERE relnamespace = 'pgid'::regnamespace AND relkind = 'r' AND a.grantee <> c.relowner"
		for range 5 {
			var all sync.WaitGroup
			for range 4 {
				conn := connect(t, admin)
				all.Go(func() {
					if err := postgres.Create(t.Context(), conn); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if got := ask[string](t, conn, rights); got != "" {
				t.Errorf("others may: %s", got)
			}
			exec(t, conn, "DROP SCHEMA pgid CASCADE")
		}
		exec(t, conn, "CREATE SCHEMA pgid", "GRANT USAGE, CREATE ON SCHEMA pgid TO "+quoted)
		if err := postgres.Create(t.Context(), connect(t, as(t, admin, role))); err != nil {
			t.Errorf("with rights on the schema: %v", err)
		}
		if got := ask[string](t, conn, rights); got != "" {
			t.Errorf("others may: %s", got)
		}
		// What was granted since stays.
		exec(t, conn, "GRANT SELECT ON pgid.node TO other")
		if err := postgres.Create(t.Context(), conn); err != nil {
			t.Error(err)
		}
		if got := ask[string](t, conn, rights); got != "other SELECT" {
			t.Errorf("others may: %s", got)
		}
	})
}
