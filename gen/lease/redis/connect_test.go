package redis_test

import (
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest/servers"
	store "github.com/pgidproxy/pgidproxy/gen/lease/redis"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	leasetest.URLs(t, func(url string) (lease.Store, error) { return store.New(url) }, map[string]bool{
		"redis://localhost":                           true,
		"redis://user:secret@localhost:6379/2":        true,
		"rediss://:secret@[::1]:6380?skip_verify=1":   true,
		"redis://localhost?read_timeout=2s":           true,
		"redis://localhost?nonsense=1":                false,
		"redis://user:secret@localhost/notanumber":    false,
		"unix:///run/redis.sock":                      false,
		"http://user:secret@localhost":                false,
		"redis://user:se/cret@localhost":              false,
		"redis://user:12?secret@localhost":            false,
		"redis://user:12/secret@localhost":            false,
		"redis://user:12#secret@localhost":            false,
		"redis://user:secret%zz@localhost":            false,
		"redis://user:secret@localhost:port":          false,
		"redis://user:secret@localhost:6379\x7f/path": false,
	})
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t, "--requirepass", "secret of/all")
	leasetest.Begin(t, open(t, "redis://:secret%20of%2Fall@"+server.Addr))
	leasetest.SetupError(t, open(t, "redis://"+server.Addr), "NOAUTH")
	leasetest.SetupError(t, open(t, "redis://:secrets@"+server.Addr), "WRONGPASS")
	leasetest.SetupError(t, open(t, "redis://nobody:secrets@"+server.Addr), "WRONGPASS")
	leasetest.SetupError(t, open(t, "redis://:secret%20of%2Fall@"+server.Addr+"/99"), "out of range")
}

func TestRights(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	c := admin(t, server)
	user := func(name string, rights ...any) string {
		do(t, c, append([]any{"ACL", "SETUSER", name, "on", ">secret"}, rights...)...)
		return "redis://" + name + ":secret@" + server.Addr + "/1"
	}
	// What the hint says is enough.
	all := []any{"~{pgidproxy}:*", "+select", "+eval", "+evalsha", "+info", "+time", "+hget", "+hmget", "+hgetall", "+hset"}
	s := open(t, user("all", all...))
	if err := leasetest.Put(s, leasetest.Begin(t, s), "", "a"); err != nil {
		t.Error(err)
	}
	if _, err := s.Warnings(t.Context()); err != nil {
		t.Error(err)
	}
	leasetest.SetupError(t, open(t, user("noinfo", append(all, "-info")...)), "INFO")
	leasetest.SetupError(t, open(t, user("noeval", append(all, "-evalsha")...)), "NOPERM")
	leasetest.SetupError(t, open(t, user("nohash", append(all, "-hmget")...)), "can't run this command")
	leasetest.SetupError(t, open(t, user("nokeys", append(all[1:], "~other")...)), "NOPERM")
}

func TestForeignKeys(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t)
	do(t, admin(t, server), "SET", "{pgidproxy}:head", "something else")
	leasetest.SetupError(t, open(t, "redis://"+server.Addr), "WRONGTYPE")
}

func TestTLS(t *testing.T) {
	t.Parallel()
	certificate, key := servers.Certificate(t)
	server := servers.Redis(t, "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no")
	leasetest.Begin(t, open(t, "rediss://"+server.Addr+"?skip_verify=true"))
	leasetest.SetupError(t, open(t, "rediss://"+server.Addr), "certificate")

	// A server in protected mode speaks at once, and without TLS.
	denied, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer denied.Close()
	go func() {
		for {
			c, err := denied.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "-DENIED Redis is running in protected mode\r\n")
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	leasetest.SetupError(t, open(t, "rediss://"+denied.Addr().String()), "TLS")
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	server := servers.Redis(t, "--appendonly", "yes")
	s, c := open(t, "redis://"+server.Addr), admin(t, server)
	check := func(want ...string) {
		t.Helper()
		got, err := s.Warnings(t.Context())
		if err != nil || !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	check()
	do(t, c, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	check()
	do(t, c, "CONFIG", "SET", "maxmemory", "100mb")
	check("allkeys-lru")
	do(t, c, "CONFIG", "SET", "maxmemory-policy", "volatile-lru")
	check()
	do(t, c, "CONFIG", "SET", "appendonly", "no")
	check("appendonly")
	servers.Redis(t, "--replicaof", "127.0.0.1 "+server.Port)
	follow(t, server)
	check("appendonly", "min-replicas-to-write")
	do(t, c, "CONFIG", "SET", "min-replicas-to-write", "1")
	check("appendonly")
}
