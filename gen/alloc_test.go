package gen

import "testing"

func TestMintingAllocatesNothing(t *testing.T) {
	var (
		ids  [64]int64
		us   [64]UUID
		buf  = make([]byte, 0, 256)
		last error
	)
	for _, c := range []Config{{Policy: Ahead}, {Policy: Wait}, {Policy: Refuse}, {Leased: true}} {
		g := newGenerator(t, nil, c)
		if c.Leased {
			if err := g.Grant(5, 0, End().UnixMilli()); err != nil {
				t.Fatal(err)
			}
		}
		calls := map[string]func(){
			"Snowflake":             func() { ids[0], last = g.Snowflake() },
			"Snowflakes":            func() { last = g.Snowflakes(ids[:]) },
			"UUIDv7":                func() { us[0], last = g.UUIDv7() },
			"UUIDv7s":               func() { last = g.UUIDv7s(us[:]) },
			"AppendSnowflake":       func() { buf = AppendSnowflake(buf[:0], ids[0]) },
			"AppendSnowflakeBinary": func() { buf = AppendSnowflakeBinary(buf[:0], ids[0]) },
			"AppendUUID":            func() { buf = AppendUUID(buf[:0], us[0]) },
			"AppendUUIDBinary":      func() { buf = AppendUUIDBinary(buf[:0], us[0]) },
			"WaitReady":             func() { last = g.WaitReady(t.Context()) },
		}
		for name, call := range calls {
			if n := testing.AllocsPerRun(1000, call); n != 0 || last != nil {
				t.Errorf("%v, leased %t: %s: %v allocations, %v", c.Policy, c.Leased, name, n, last)
			}
		}
	}

	c := newClock(600_000)
	g := newGenerator(t, c, Config{})
	mustSnowflake(t, g)
	c.set(0)
	if n := testing.AllocsPerRun(1000, func() { _, last = g.Snowflake() }); n != 0 || last != ErrAhead {
		t.Errorf("a call that fails: %v allocations, %v", n, last)
	}
}
