package gen

// Snowflake mints one id. It fails with ErrAhead, ErrClockBack or ErrExhausted.
func (g *Generator) Snowflake() (int64, error) {
	w, err := g.snowflakeWords(1)
	if err != nil {
		return 0, err
	}
	return g.snowflake(w), nil
}

// Snowflakes fills dst with ascending ids, taken in one step: all of them or,
// with the errors of Snowflake, none. The first is within the run-ahead bound;
// the last may be beyond it by the batch's own length, 4,096 a millisecond, so
// that a long batch is not starved by short ones.
func (g *Generator) Snowflakes(dst []int64) error {
	if len(dst) == 0 {
		return nil
	}
	w, err := g.snowflakeWords(int64(len(dst)))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = g.snowflake(w + int64(i))
	}
	return nil
}

// snowflake puts the node between time and sequence.
func (g *Generator) snowflake(w int64) int64 {
	return w&^sequenceMask<<NodeBits | g.node | w&sequenceMask
}

func (g *Generator) snowflakeWords(n int64) (int64, error) {
	now := g.now()
	if g.policy == Refuse {
		var err error
		if now, err = g.forward(now); err != nil {
			return 0, err
		}
	}
	ms := now/nsPerMs - Epoch
	start := ms << SequenceBits
	if start > maxWord {
		return 0, ErrExhausted
	}
	last := g.snowflakes.Load()
	if !g.zero && start > last {
		start |= int64(g.rand() % startBelow)
	}
	return take(&g.snowflakes, last, start, n, g.bound(ms), maxWord)
}
