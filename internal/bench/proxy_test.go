package bench

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// A certificate has to be that of the host which is connected to.
func TestMovedVerifiesTheOtherHost(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"verify-full": "pooler.example", "prefer": "pooler.example", "disable": ""} {
		config, err := pgx.ParseConfig("postgres://alice:secret@db.example:5432/shop?sslmode=" + mode)
		if err != nil {
			t.Fatal(err)
		}
		m := moved(config, "pooler.example", 6432)
		got := ""
		if m.TLSConfig != nil {
			got = m.TLSConfig.ServerName
		}
		if got != want || m.Host != "pooler.example" || m.Port != 6432 || m.User != "alice" || m.Password != "secret" || m.Database != "shop" {
			t.Errorf("%s: got %s:%d with a certificate of %q, want one of %q", mode, m.Host, m.Port, got, want)
		}
		for _, f := range m.Fallbacks {
			if f.Host != "pooler.example" || f.Port != 6432 {
				t.Errorf("%s: falls back to %s:%d", mode, f.Host, f.Port)
			}
		}
		if config.Host != "db.example" || config.TLSConfig != nil && config.TLSConfig.ServerName != "db.example" {
			t.Errorf("%s: what was given has changed", mode)
		}
	}
}
