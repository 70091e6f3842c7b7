package sql

import (
	"context"
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/internal/devpg"
	"github.com/pgidproxy/pgidproxy/internal/devpg/devpgtest"
)

// TestGateIsRepaired: a gate left odd, and sequences that were never used, as
// after the restore of a schema without data, are set right by the next call.
func TestGateIsRepaired(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := installed(t, s)
		last := int64(0)
		for _, state := range []string{
			"SELECT setval('pgid.snowflake_gate', 7)",
			"SELECT setval('pgid.snowflake_gate', 0, false)",
			"SELECT setval('pgid.snowflake_last', 0, false)",
			"SELECT setval('pgid.snowflake_gate', 0, false), setval('pgid.snowflake_last', 0, false), pg_sleep(0.1)",
			"SELECT setval('pgid.snowflake_gate', 9), setval('pgid.snowflake_last', 0), pg_sleep(0.1)",
		} {
			exec(t, conn, state)
			id := scan[int64](t, conn, "SELECT next_snowflake()")
			if id <= last {
				t.Errorf("%s: %d after %d", state, id, last)
			}
			last = id
			if !scan[bool](t, conn, "SELECT abs(extract(epoch FROM clock_timestamp() - id_to_timestamp(next_snowflake()))) < 30") {
				t.Errorf("%s: not the time of now", state)
			}
			if gate := scan[int64](t, conn, "SELECT pg_sequence_last_value('pgid.snowflake_gate')"); gate%2 != 0 {
				t.Errorf("%s: gate left at %d", state, gate)
			}
		}
	})
}

// TestDumpDoesNotBlock: what a dump locks on every table does not keep ids from
// being given out.
func TestDumpDoesNotBlock(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, url := installed(t, s)
		dump := connect(t, url)
		exec(t, dump, "BEGIN; LOCK TABLE pgid.snowflake_mover, pgid.config IN ACCESS SHARE MODE")
		exec(t, conn, "SET lock_timeout = '10s'; SELECT next_snowflake(); SELECT pg_sleep(0.1); SELECT next_snowflake()")
		exec(t, dump, "ROLLBACK")
	})
}

// TestClockOutOfRange: ids end with the 41 bits, and are refused before 2024.
func TestClockOutOfRange(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := paused(t, s)
		setClock(t, conn, 1_600_000_000_000)
		if _, err := mint(conn); err == nil || !strings.Contains(err.Error(), "stepped back") {
			t.Errorf("before the epoch: %v", err)
		}
		setClock(t, conn, 1704067200000+1<<41-1)
		if id, err := mint(conn); err != nil || id>>22 != 1<<41-1 {
			t.Errorf("last millisecond: %d, %v", id, err)
		}
		setClock(t, conn, 1704067200000+1<<41)
		exec(t, conn, "SELECT setval('pgid.snowflake_last', 1)")
		if _, err := mint(conn); err == nil || !strings.Contains(err.Error(), "41 bits") {
			t.Errorf("past the last millisecond: %v", err)
		}
		setClock(t, conn, 1_900_000_000_000)
		if _, err := mint(conn); err != nil {
			t.Errorf("clock set right: %v", err)
		}
	})
}

// TestUUIDv7StepsBack: ids of a session increase with a clock that stands still
// or steps back, also over more than the 12 bits below a millisecond.
func TestUUIDv7StepsBack(t *testing.T) {
	devpgtest.Each(t, func(t *testing.T, s *devpg.Server) {
		conn, _ := paused(t, s)
		// On PostgreSQL 18 too: as after an upgrade.
		exec(t, conn, renderClock(uuidv7SQL, InstallOptions{}, "t.clock()"))
		last := ""
		for _, ms := range []int64{1_900_000_000_000, 1_900_000_000_001, 1_899_999_700_000, 1_900_000_000_100} {
			setClock(t, conn, ms)
			rows, _ := conn.Query(context.Background(), "SELECT public.uuidv7()::text FROM generate_series(1, 5000)")
			for rows.Next() {
				var id string
				if err := rows.Scan(&id); err != nil {
					t.Fatal(err)
				}
				if id <= last || id[14] != '7' || !strings.ContainsAny(id[19:20], "89ab") {
					t.Fatalf("clock at %d: %s after %s", ms, id, last)
				}
				last = id
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		}
		if !scan[bool](t, conn, "SELECT id_to_timestamp(public.uuidv7('-1 year')) BETWEEN to_timestamp(1900000000) - interval '1 year' AND to_timestamp(1900000001) - interval '1 year'") {
			t.Error("uuidv7(interval) is not shifted by a year")
		}
	})
}
