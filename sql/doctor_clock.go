package sql

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen"
)

//go:embed doctor_sequences.sql
var doctorSequencesQuery string

const (
	// roundTrips is how often the server's clock is asked; the quickest reply counts.
	roundTrips = 5
	// maxOffset is how far clocks may be apart without a warning.
	maxOffset = time.Second
)

// serverClock reads the server's clock.
func (d *doctor) serverClock(ctx context.Context) (time.Time, error) {
	var us int64
	err := d.tx.QueryRow(ctx, "SELECT int8(date_part('epoch', clock_timestamp()) * 1000000)", pgx.QueryExecModeExec).Scan(&us)
	return time.UnixMicro(us), err
}

// checkClock compares this machine's clock with the server's.
func (d *doctor) checkClock(ctx context.Context) error {
	var offset, trip time.Duration
	var server time.Time
	for i := range roundTrips {
		before := d.now()
		now, err := d.serverClock(ctx)
		if err != nil {
			return err
		}
		took := d.now().Sub(before)
		if i == 0 || took < trip {
			server, trip, offset = now, took, before.Add(took/2).Sub(now)
		}
	}
	apart, direction := offset, "ahead of"
	if offset < 0 {
		apart, direction = -offset, "behind"
	}
	within := short(trip/2 + time.Millisecond)
	finding := fmt.Sprintf("this machine's clock is %s %s the server's (to within %s)", short(apart), direction, within)
	const advice = "Have both machines keep the time (NTP)."
	switch sure := apart - trip/2; {
	case sure > gen.DefaultRunAhead:
		d.say(LevelDanger, "", fmt.Sprintf("%s, more than the %s that ids may run ahead: ids of this machine and of the functions are out of order, and minting may stop", finding, gen.DefaultRunAhead), advice)
	case sure > maxOffset:
		d.say(LevelWarning, "", finding+": ids of this machine and of the functions are out of order by that", advice)
	case apart < time.Millisecond:
		d.say(LevelOK, "", "this machine's clock and the server's agree (to within "+within+")", "")
	default:
		d.say(LevelOK, "", finding, "")
	}
	if ms := server.UnixMilli() - gen.Epoch; ms < 0 || ms>>41 != 0 {
		d.say(LevelDanger, "", fmt.Sprintf("the server's clock shows %s, outside of the time that ids can hold: next_snowflake() fails", day(server.UnixMilli())), "Set the server's clock right.")
	} else if year := int64(366 * 24 * time.Hour / time.Millisecond); (ms+year)>>41 != 0 {
		d.say(LevelWarning, "", fmt.Sprintf("the time that ids can hold ends within a year, on %s", day(gen.Epoch+1<<41-1)), "")
	}
	return nil
}

// short writes a duration in a unit that suits it.
func short(t time.Duration) string {
	switch {
	case t < 10*time.Second:
		return fmt.Sprintf("%d ms", t.Milliseconds())
	case t < 10*time.Minute:
		return fmt.Sprintf("%.1f s", t.Seconds())
	}
	return t.Round(time.Second).String()
}

// checkSequences looks at the state of next_snowflake.
func (d *doctor) checkSequences(ctx context.Context) error {
	rows, _ := d.tx.Query(ctx, doctorSequencesQuery)
	var name string
	var sound, durable, may bool
	whole, readable := true, true
	_, err := pgx.ForEachRow(rows, []any{&name, &sound, &durable, &may}, func() error {
		if !sound {
			d.say(LevelDanger, "pgid."+name, "it is missing, or not as it was made: next_snowflake() fails, or its ids may repeat",
				"Restore it as pgidproxy install --dry-run shows it, ahead of all ids that were given out.")
		}
		if !durable {
			d.say(LevelDanger, "pgid."+name, "it is unlogged: after a crash of the server ids repeat", "ALTER SEQUENCE pgid."+name+" SET LOGGED;")
		}
		whole, readable = whole && sound, readable && may
		return nil
	})
	if err != nil || !whole {
		return err
	}
	if !readable {
		d.say(LevelNote, "", "this role may not read how far next_snowflake() has come", "Run pgidproxy doctor as the owner of schema pgid, or as a superuser.")
		return nil
	}
	return d.checkLast(ctx)
}

// checkLast holds the last id against the clock.
func (d *doctor) checkLast(ctx context.Context) error {
	// The clock is read after the sequence, so that a call in between puts nothing
	// ahead.
	var last, gate *int64
	var moving bool
	err := d.tx.QueryRow(ctx, `SELECT pg_sequence_last_value('pgid.snowflake_last'::regclass), pg_sequence_last_value('pgid.snowflake_gate'::regclass),
		EXISTS (SELECT FROM pg_locks l WHERE l.relation = 'pgid.snowflake_mover'::regclass AND l.granted)`).Scan(&last, &gate, &moving)
	if err != nil {
		return err
	}
	now, err := d.serverClock(ctx)
	if err != nil {
		return err
	}
	if last == nil {
		d.say(LevelOK, "", "next_snowflake() was not called yet", "")
	} else {
		d.sayAhead(time.Duration(*last>>gen.SequenceBits+gen.Epoch-now.UnixMilli())*time.Millisecond, *last)
	}
	if gate != nil && *gate&1 == 1 && !moving {
		d.say(LevelNote, "pgid.snowflake_gate", "a session died while it moved next_snowflake() up to the clock: the next call finishes that", "")
	}
	return nil
}

func (d *doctor) sayAhead(ahead time.Duration, last int64) {
	const subject = "pgid.snowflake_last"
	if year := int64(366*24*time.Hour/time.Millisecond) << gen.SequenceBits; (last+year)>>(41+gen.SequenceBits) != 0 {
		d.say(LevelDanger, subject, "the last id of next_snowflake() is within a year of the largest that there can be", "If it was set by hand: set it back to above all ids in the tables, by the clock.")
	}
	switch {
	case ahead > gen.DefaultRunAhead:
		d.say(LevelDanger, subject, fmt.Sprintf("the last id of next_snowflake() is %s ahead of the server's clock, which has stepped back: INSERT fails until it is at most %s behind",
			short(ahead), gen.DefaultRunAhead), "Set the server's clock right, or wait.")
	case ahead > maxOffset:
		d.say(LevelWarning, subject, fmt.Sprintf("the last id of next_snowflake() is %s ahead of the server's clock, which has stepped back, or cannot follow a burst of ids; from %s on INSERT fails",
			short(ahead), gen.DefaultRunAhead), "See that the server's clock is kept by NTP, and does not jump.")
	case ahead > 0:
		d.say(LevelOK, "", fmt.Sprintf("the last id of next_snowflake() is %s ahead of the server's clock", short(ahead)), "")
	default:
		d.say(LevelOK, "", "the last id of next_snowflake() is not ahead of the server's clock", "")
	}
}
