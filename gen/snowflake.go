package gen

// Snowflake mints one id. It fails with ErrAhead, ErrClockBack or ErrExhausted,
// a leased generator's also with ErrNoNode or ErrMark.
func (g *Generator) Snowflake() (int64, error) {
	w, node, err := g.snowflakeWords(1)
	if err != nil {
		return 0, err
	}
	return snowflake(w, node), nil
}

// Snowflakes fills dst with ascending ids, taken in one step: all of them or,
// with the errors of Snowflake, none. The first is within the run-ahead bound;
// the last may be beyond it by the batch's own length, 4,096 a millisecond, so
// that a long batch is not starved by short ones.
func (g *Generator) Snowflakes(dst []int64) error {
	if len(dst) == 0 {
		return nil
	}
	w, node, err := g.snowflakeWords(int64(len(dst)))
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = snowflake(w+int64(i), node)
	}
	return nil
}

// snowflake puts the node between time and sequence.
func snowflake(w, node int64) int64 {
	return w&^sequenceMask<<NodeBits | node | w&sequenceMask
}

// snowflakeWords returns the first of n words and the node under which they may
// be used.
func (g *Generator) snowflakeWords(n int64) (w, node int64, err error) {
	grant := g.grant.Load()
	if grant == nil {
		return 0, 0, ErrNoNode
	}
	now := g.now()
	if g.policy == Refuse {
		if now, err = g.forward(now); err != nil {
			return 0, 0, err
		}
	}
	ms := now/nsPerMs - Epoch
	start := ms << SequenceBits
	if start > maxWord {
		return 0, 0, ErrExhausted
	}
	last := g.snowflakes.Load()
	if !g.zero && start > last {
		start |= int64(g.rand() % startBelow)
	}
	end, past := grant.ceiling.Load(), ErrMark
	if end >= maxWord {
		end, past = maxWord, ErrExhausted
	}
	w, err = take(&g.snowflakes, last, max(start, grant.floor), n, g.bound(ms), end, past)
	return w, grant.node, err
}
