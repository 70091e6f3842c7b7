package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"dial postgres://u:pw@h/db: refused":        "dial postgres://u:xxxxx@h/db: refused",
		"postgresql://u:p@w:x/y@h:5432/db?a=b":      "postgresql://u:xxxxx@h:5432/db?a=b",
		"postgres://u@h/db?password=pw&sslmode=off": "postgres://u@h/db?password=xxxxx&sslmode=off",
		"host=h password=pw user=u":                 "host=h password=xxxxx user=u",
		`password = 'a \' b' sslpassword=c`:         "password = xxxxx sslpassword=xxxxx",
		"redis://:pw@h":                             "redis://:xxxxx@h",
		"nothing to hide: 12:30 a@b":                "nothing to hide: 12:30 a@b",
	} {
		if got := redact(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestLogHoldsNoPasswords(t *testing.T) {
	t.Parallel()
	const url = "postgres://u:s3cret@h/db"
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		newLog(&out, format, "info").With("url", url).Info("connect to "+url, "err", errors.New("dial "+url))
		if got := out.String(); strings.Contains(got, "s3cret") || strings.Count(got, "xxxxx") != 3 {
			t.Errorf("%s: got %s", format, got)
		}
	}
}

func TestDatabaseURLErrorsHoldNoPasswords(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"postgres://u:s3cret@h:port/db", "postgres://u:a@s3cret#x@h/db", "postgres://u:s3%cret@h/db", "postgres://u:s3cret/x@h/db",
		"host=h password=s3cret sslmode=nonsense", "host=h password='s3cret", "password=s3cret port=x", "password = s3cret port=x",
	} {
		var u databaseURL
		err := u.UnmarshalText([]byte(text))
		if err != nil && strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDatabaseURLNamesADatabase(t *testing.T) {
	t.Setenv("PGDATABASE", "")
	for text, want := range map[string]string{"postgres://u@h/db": "db", "postgres://u@h": "u", "host=h user=u": "u", "host=h user=u dbname=db": "db"} {
		var u databaseURL
		if err := u.UnmarshalText([]byte(text)); err != nil || u.config.Database != want {
			t.Errorf("%s: got %q, %v, want %q", text, u.config.Database, err, want)
		}
	}
}

func TestByteSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]byteSize{"0": 0, "4096": 4096, "1MiB": 1 << 20, "512 KiB": 512 << 10, "2kB": 2000, "7B": 7, "1GiB": 1 << 30} {
		var got byteSize
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1TiB", "2GiB", "9223372036854775807KiB", "1.5MiB"} {
		var got byteSize
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%s: got %d", text, got)
		}
	}
}
