package etcd_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/gen/lease/etcd"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest"
	"github.com/pgidproxy/pgidproxy/gen/lease/leasetest/servers"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	leasetest.URLs(t, func(url string) (lease.Store, error) { return etcd.New(url) }, map[string]bool{
		"etcd://localhost": true,
		"etcd://a:1,b:2,[::1]:3,[::1],c/some/prefix/":     true,
		"etcd://user:secret@a:1,b:2":                      true,
		"etcd://user:sec@ret@a:1":                         true,
		"etcds://user:secret%2F@a":                        true,
		"etcds://a?ca=/nowhere/at/all":                    false,
		"etcds://a?cert=/nowhere/at/all":                  false,
		"etcds://a?nonsense=1":                            false,
		"etcd://a?ca=/nowhere/at/all":                     false,
		"etcd://":                                         false,
		"etcd://a,":                                       false,
		"etcd://user@a":                                   false,
		"http://user:secret@a":                            false,
		"etcd://user:sec/secret@a":                        false,
		"etcd://user:12/secret@a":                         false,
		"etcd://user:12?secret@a":                         false,
		"etcd://user:secret%zz@a":                         false,
		"etcd://user:secret@a:port":                       false,
		"etcd://user:secret@a:99999":                      false,
		"secret":                                          false,
		"etcds://user:secret@a?ca=" + "connect_test.go":   false,
		"etcds://user:secret@a?cert=" + "connect_test.go": false,
	})
}

func TestUsers(t *testing.T) {
	t.Parallel()
	server := servers.Etcd(t)
	ctx, c := t.Context(), admin(t, server, "", "")
	var errs []error
	done := func(_ any, err error) { errs = append(errs, err) }
	done(c.RoleAdd(ctx, "registry"))
	done(c.RoleGrantPermission(ctx, "registry", "/pgidproxy/", clientv3.GetPrefixRangeEnd("/pgidproxy/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	for user, role := range map[string]string{"root": "root", "app": "registry"} {
		done(c.UserAdd(ctx, user, "secret of/all"))
		done(c.UserGrantRole(ctx, user, role))
	}
	done(c.AuthEnable(ctx))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	const sign = "app:secret%20of%2Fall@"
	s := open(t, "etcd://"+sign+server.Addr)
	snap := leasetest.Begin(t, s)
	if err := leasetest.Put(s, snap, "", "a"); err != nil {
		t.Error(err)
	}
	leasetest.SetupError(t, open(t, "etcd://"+server.Addr), "user name is empty")
	leasetest.SetupError(t, open(t, "etcd://app:secrets@"+server.Addr), "authentication failed")
	leasetest.SetupError(t, open(t, "etcd://nobody:secrets@"+server.Addr), "authentication failed")
	leasetest.SetupError(t, open(t, "etcd://"+sign+server.Addr+"/other"), "--prefix /other/")

	server.Kill() // which forgets who has signed on
	server.Start()
	eventually(t, func() error { return leasetest.Put(s, snap, "a", "b") })
}

// A registry whose server is not there when the program starts is no error of the
// set-up, with a user neither.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := servers.Etcd(t)
	plain, user := open(t, "etcd://"+server.Addr), open(t, "etcd://app:secret@"+server.Addr)
	server.Stop()
	for _, s := range []*etcd.Store{plain, user} {
		if _, err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "secret") ||
			errors.As(err, new(*lease.SetupError)) {
			t.Errorf("got %v", err)
		}
	}
	server.Start()
	for _, s := range []*etcd.Store{plain, user} { // without users any is welcome
		eventually(t, func() error { _, err := s.Load(t.Context()); return err })
	}
}

// A server that takes connections and says nothing.
func TestHungServer(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	for _, user := range []string{"", "app:secret@"} {
		s := open(t, "etcd://"+user+mute.Addr().String())
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := s.Load(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Second {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	certificate, key := servers.Certificate(t)
	server := servers.Etcd(t, "--cert-file", certificate, "--key-file", key, "--trusted-ca-file", certificate, "--client-cert-auth")
	url := "etcds://" + server.Addr
	s := open(t, url+"?ca="+certificate+"&cert="+certificate+"&key="+key)
	if err := leasetest.Put(s, leasetest.Begin(t, s), "", "a"); err != nil {
		t.Error(err)
	}
	leasetest.SetupError(t, open(t, url), "certificate")
	// With TLS 1.3 the server may have closed the connection before it says why.
	if _, err := open(t, url+"?ca="+certificate).Load(t.Context()); err == nil {
		t.Error("a client without a certificate is welcome")
	}
}
