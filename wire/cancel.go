package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// cancelTimeout bounds the relay of a CancelRequest to one server.
const cancelTimeout = 10 * time.Second

// relayCancel passes a CancelRequest on as it came. The keys are the server's
// own, so nothing has to be looked up, and a request that came to another
// process than the session's serves as well. It goes to each address that
// sessions are connected to, or else to the first that answers: a key is wrong
// everywhere but at its own server. It returns once the server has hung up,
// which is after it has sent the signal.
func (d *dialer) relayCancel(ctx context.Context, packet []byte) error {
	if used := d.used(); len(used) > 0 {
		var errs []error
		for _, t := range used {
			errs = append(errs, d.cancelAt(ctx, t, packet))
		}
		return errors.Join(errs...)
	}
	targets, err := d.targets(ctx)
	for _, t := range targets {
		if err = d.cancelAt(ctx, t, packet); err == nil {
			return nil
		}
	}
	return err
}

func (d *dialer) cancelAt(ctx context.Context, t target, packet []byte) error {
	ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	conn, _, err := d.open(ctx, t, 0)
	if err != nil {
		return err
	}
	defer conn.Close()
	return guard(ctx, conn, func() error {
		if _, err := conn.Write(packet); err != nil {
			return fmt.Errorf("send cancel request: %w", err)
		}
		// However the server hangs up, it has read the request.
		_, _ = io.Copy(io.Discard, conn)
		return nil
	})
}
