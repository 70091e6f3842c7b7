package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

func TestCopied(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		head, now    string
		copied, less bool
	}{
		{"7/5/00000001", "7/5/00000001", false, false},
		{"7/5/00000001", "7/5/00000002", false, false}, // promoted
		{"7/5/00000001", "8/5/00000001", true, false},
		{"7/5/00000001", "7/6/00000001", true, false},
		{"-/5/-", "7/5/00000001", false, false},
		{"-/5/-", "7/6/00000001", true, false},
		{"7/5/00000001", "-/5/00000001", true, true},
		{"7/5/00000001", "7/5/-", false, true},
		{"", "7/5/00000001", false, false},
		{"nonsense", "7/5/00000001", true, false},
	} {
		if got := copied(c.head, c.now); got != c.copied {
			t.Errorf("%q, now %q: copied %t", c.head, c.now, got)
		}
		if got := less(c.head, c.now); got != c.less {
			t.Errorf("%q, now %q: less %t", c.head, c.now, got)
		}
	}
}

// Poolers and their like send errors with codes of their own, or none.
func TestExplainOddCodes(t *testing.T) {
	t.Parallel()
	config, err := pgx.ParseConfig("postgres://me:hunter2@h/d")
	if err != nil {
		t.Fatal(err)
	}
	for code, setup := range map[string]bool{"": false, "X": false, "2": false, "28P01": true, "28": true, "08P01": false, "57P03": false, "25006": false} {
		err := explain(&pgconn.PgError{Code: code, Message: "no"}, config)
		if errors.As(err, new(*lease.SetupError)) != setup {
			t.Errorf("%q: got %v", code, err)
		}
	}
	if passing("0A000") || !passing("57P01") || !passing("") {
		t.Error("what passes, and what does not")
	}
}
