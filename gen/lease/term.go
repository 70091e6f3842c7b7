package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A LostError says that a node was lost to another holder, or with the registry's
// data.
type LostError struct {
	Node int
	Err  error
}

func (e *LostError) Error() string { return fmt.Sprintf("node %d was lost: %v", e.Node, e.Err) }
func (e *LostError) Unwrap() error { return e.Err }

// acquire takes a node.
func (k *Keeper) acquire(ctx context.Context) (next time.Duration, err error) {
	for attempt := 0; ; attempt++ {
		if attempt > 0 { // another was faster
			if err := sleep(ctx, time.Duration(min(attempt, 10))*10*time.Millisecond); err != nil {
				return retryEvery, err
			}
		}
		s, err := k.c.Registry.Open(ctx)
		if err != nil {
			return retryEvery, err
		}
		k.join(s.Head.ID)
		k.c.Registry.TTL = k.c.Registry.longest(s) // what is read now may be lost then
		k.time.hear(k.mono(), s.Now)
		if k.c.Claim != nil && k.claimed != s.Head.Era {
			if err := k.c.Claim(ctx); err != nil {
				return retryEvery, err
			}
			k.claimed = s.Head.Era
		}
		if s.Wait > 0 {
			return min(s.Wait, k.c.Heartbeat), &WaitError{s.Wait}
		}
		k.time.peers = s.peers()
		now := k.time.look(k.mono(), k.wall())
		rec, err := k.choose(s, now)
		if err != nil {
			return k.c.Heartbeat, err
		}
		switch err := k.take(ctx, s, rec, now); {
		case err == nil:
			return k.c.Heartbeat, nil
		case !errors.Is(err, ErrChanged) && !errors.Is(err, ErrEra):
			return retryEvery, err
		}
	}
}

// join remembers which registry this is: were it emptied, it gets its id back,
// and another one in its place is refused.
func (k *Keeper) join(id string) {
	k.c.Registry.ID, k.c.Registry.Seen = id, true
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status.Registry = id
}

// choose returns the record of the lowest node that may be taken; of those whose
// mark is too far ahead to mint under, the one with the nearest, where there is
// no other.
func (k *Keeper) choose(s Snapshot, now int64) (best Record, err error) {
	usable := now + (k.c.RunAhead - step).Milliseconds()
	found, leases := false, 0
	for node := k.c.First; node <= k.c.Last; node++ {
		rec, _ := s.record(node)
		if rec.Token != "" && rec.Token == k.pending {
			return rec, nil // an attempt whose reply was lost
		}
		if rec.Live && !k.silent(rec) {
			if k.c.First == k.c.Last {
				return rec, &HeldError{rec}
			}
			if rec.Kind == KindLease {
				leases++
			}
			continue
		}
		if rec.Mark <= usable {
			return rec, nil
		}
		if !found || rec.Mark < best.Mark {
			best, found = rec, true
		}
	}
	if !found {
		return best, &ExhaustedError{First: k.c.First, Last: k.c.Last, Holders: leases}
	}
	return best, nil
}

// silent tells whether a holder gave no sign of life for longer than its TTL as
// far as this keeper has seen: the store's clock, which says otherwise, has
// stepped back.
func (k *Keeper) silent(rec Record) bool {
	now := k.mono()
	if seen, ok := k.seen[rec.Node]; ok && seen.token == rec.Token {
		return rec.Kind == KindLease && now-seen.at > rec.TTL+rec.Every
	}
	k.seen[rec.Node] = sighting{rec.Token, now}
	return false
}

// A sighting is when a record was first seen with that token.
type sighting struct {
	token string
	at    time.Duration // monotonic
}

// peers is the latest time at which a holder that lives put a mark ahead of its
// clock.
func (s Snapshot) peers() (latest int64) {
	for _, rec := range s.Records {
		if rec.Live && rec.Kind == KindLease {
			latest = max(latest, rec.Mark-DefaultMarkAhead.Milliseconds())
		}
	}
	return latest
}

// take begins a term of the node.
func (k *Keeper) take(ctx context.Context, s Snapshot, rec Record, now int64) error {
	if err := k.party.Take(rec.Node); err != nil {
		return err
	}
	floor := max(rec.Mark, s.Head.Floor)
	mark := max(now+k.c.MarkAhead.Milliseconds(), rec.Mark)
	if first := floor + step.Milliseconds(); first <= now+min(k.c.RunAhead, k.c.TTL/2).Milliseconds() {
		// A restarted holder mints at once. But no mark gets further ahead of the clock
		// than that, however often its holders are restarted.
		mark = max(mark, first)
	}
	token, sent := newToken(), k.mono()
	k.pending = token
	store, err := k.c.Registry.Store.Swap(ctx, Swap{Era: s.Head.Era, Expect: []string{rec.Token}, Node: rec.Node,
		Kind: KindLease, Token: token, Holder: k.c.Holder, Mark: mark, Every: k.c.Heartbeat, TTL: k.c.TTL})
	if err != nil {
		return err
	}
	k.era, k.node, k.token, k.pending, k.floor, k.mark = s.Head.Era, rec.Node, token, "", floor, mark
	if err := k.confirm(sent, store, false); err != nil {
		return errors.Join(err, k.free(ctx))
	}
	return nil
}

// renew is a heartbeat.
func (k *Keeper) renew(ctx context.Context) (next time.Duration, err error) {
	if k.pending == "" {
		k.pending = newToken()
	}
	k.mark = max(k.mark, k.time.look(k.mono(), k.wall())+k.c.MarkAhead.Milliseconds())
	sent, doubted := k.mono(), k.time.doubted
	store, err := k.c.Registry.Store.Swap(ctx, Swap{Era: k.era, Expect: []string{k.token, k.pending}, Node: k.node,
		Kind: KindLease, Token: k.pending, Holder: k.c.Holder, Mark: k.mark, Every: k.c.Heartbeat, TTL: k.c.TTL, Renew: true})
	switch {
	case errors.Is(err, ErrChanged), errors.Is(err, ErrEra):
		err = &LostError{Node: k.node, Err: err}
		k.drop()
		return 0, err
	case err != nil:
		return retryEvery, err
	}
	k.token, k.pending = k.pending, ""
	if err := k.confirm(sent, store, true); err != nil {
		return k.c.Heartbeat, err
	}
	if doubted && !k.time.doubted {
		return 0, nil // the store's clock has just confirmed a jump
	}
	return max(k.c.Heartbeat-(k.mono()-sent), 0), nil
}

// confirm lets the minter mint up to the mark that was just acknowledged.
func (k *Keeper) confirm(sent time.Duration, store int64, renewal bool) error {
	now := k.mono()
	k.time.hear((sent+now)/2, store)
	wall := k.wall()
	k.time.look(now, wall)
	k.mu.Lock()
	defer k.mu.Unlock()
	if renewal && !k.revoked {
		k.c.Minter.Extend(k.mark)
	} else if err := k.c.Minter.Grant(k.node, k.floor, k.mark); err != nil {
		return err
	}
	k.renewals++
	k.revoked = false
	renewals := k.renewals
	if k.deadline != nil {
		k.deadline.Stop()
	}
	margin := min(deadlineMargin, k.c.TTL/10)
	k.deadline = time.AfterFunc(k.c.TTL-margin-(now-sent), func() { k.expire(renewals) })
	if !renewal {
		k.status.Since = time.UnixMilli(wall)
	}
	k.status.Node, k.status.Mark, k.status.Renewed = k.node, time.UnixMilli(k.mark), time.UnixMilli(wall-(now-sent).Milliseconds())
	k.status.Doubted, k.status.Clocked = k.time.doubted, k.time.storeMs != 0
	if k.status.Clocked {
		k.status.Offset = time.Duration(wall-k.time.store(now)) * time.Millisecond
	}
	return nil
}

// expire stops minting: the registry may give the node to others from soon on.
func (k *Keeper) expire(renewals int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if renewals == k.renewals {
		k.c.Minter.Revoke()
		k.revoked = true
		k.status.Node = -1
	}
}

// drop gives up the term without telling the registry.
func (k *Keeper) drop() {
	k.node, k.token, k.pending = -1, "", ""
	_ = k.party.Take(-1)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewals++
	if k.deadline != nil {
		k.deadline.Stop()
	}
	k.c.Minter.Revoke()
	k.status.Node = -1
}

// free tells the registry that the node is not held any more, and gives it up.
func (k *Keeper) free(ctx context.Context) error {
	node, expect := k.node, []string{k.token}
	if k.pending != "" {
		expect = append(expect, k.pending)
	}
	k.drop()
	_, err := k.c.Registry.Store.Swap(ctx, Swap{Era: k.era, Expect: expect, Node: node, Kind: KindFree,
		Token: newToken(), Holder: k.c.Holder, Mark: k.mark, Every: k.c.Heartbeat, Renew: true})
	if errors.Is(err, ErrChanged) || errors.Is(err, ErrEra) {
		return nil // it is another's already
	}
	return err
}

// Close stops minting and frees the node, which keeps its mark: it may be taken
// at once. It waits for the registry until ctx is done, and no longer than for
// one call. It may be called again.
func (k *Keeper) Close(ctx context.Context) error {
	k.cancel()
	<-k.done
	defer k.party.Leave()
	if k.node < 0 {
		k.c.Minter.Revoke()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := k.free(ctx); err != nil {
		return fmt.Errorf("free the node: it is held until its lease expires: %w", err)
	}
	return nil
}

// Status returns what is held now, and what is wrong.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.status
}

// report logs what has changed.
func (k *Keeper) report(err error) {
	k.mu.Lock()
	k.status.Err = err
	status, trouble := k.status, ""
	if err != nil {
		trouble = fmt.Sprintf("%T", err)
	}
	changed, before := trouble != k.trouble, k.trouble
	k.trouble = trouble
	apart := status.Clocked && abs(int64(status.Offset)) > int64(k.c.MaxClockOffset)
	moved := apart != k.apart
	k.apart = apart
	k.mu.Unlock()
	log := k.c.Log
	var lost *LostError
	switch {
	case errors.As(err, &lost):
		log.Warn("the node is lost: ids are left to the server's functions until another is held", "node", lost.Node, "err", err)
	case err != nil && changed && status.Node >= 0:
		log.Warn("a heartbeat failed: ids are minted up to the node's mark, then left to the server's functions", "node", status.Node, "mark", status.Mark, "err", err)
	case err != nil && changed:
		log.Warn("no node is held: ids are left to the server's functions", "err", err)
	case err == nil && before != "":
		log.Info("the node is held", "node", status.Node, "mark", status.Mark)
	}
	switch {
	case moved && apart:
		log.Warn("the clock is not that of the registry: set both right", "ahead", status.Offset.Round(time.Millisecond).String(), "followed", !status.Doubted)
	case moved:
		log.Info("the clock is that of the registry again", "ahead", status.Offset.Round(time.Millisecond).String())
	}
}
