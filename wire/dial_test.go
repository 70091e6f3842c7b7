package wire

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A certificate is self-signed for 127.0.0.1.
type certificate struct {
	tls.Certificate
	certPEM, keyPEM []byte
}

var newCertificate = sync.OnceValues(func() (certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certificate{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return certificate{}, err
	}
	c := certificate{
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}
	c.Certificate, err = tls.X509KeyPair(c.certPEM, c.keyPEM)
	return c, err
})

func testCertificate(t *testing.T) certificate {
	t.Helper()
	c, err := newCertificate()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// certificateFiles writes the certificate and its key to files.
func certificateFiles(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	c := testCertificate(t)
	return tempFile(t, c.certPEM), tempFile(t, c.keyPEM)
}

func tempFile(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// secure answers an SSLRequest with yes and shakes hands.
func secure(t *testing.T, conn net.Conn, cfg *tls.Config) *tls.Conn {
	t.Helper()
	expect(t, conn, string(startupPacket(codeSSL, "")))
	put(t, conn, []byte("S"))
	secured := tls.Server(conn, cfg)
	if err := secured.Handshake(); err != nil {
		t.Fatalf("TLS handshake: %v", err)
	}
	return secured
}

func serverTLS(t *testing.T) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{testCertificate(t).Certificate}}
}

// start sends the StartupMessage of a new client.
func (r *running) start(t *testing.T) net.Conn {
	t.Helper()
	client := r.dial(t)
	put(t, client, startPacket)
	return client
}

const refusal = "SFATAL\x00VFATAL\x00C28000\x00Mno pg_hba.conf entry\x00\x00"

func TestSSLModes(t *testing.T) {
	t.Parallel()
	type play struct {
		s      *scripted
		client net.Conn
	}
	// Each script plays the server and returns the connection that is used.
	plain := func(t *testing.T, p play) net.Conn {
		c := p.s.take(t)
		expect(t, c, string(startPacket))
		return c
	}
	refusesTLS := func(t *testing.T, p play) net.Conn {
		c := p.s.take(t)
		expect(t, c, string(startupPacket(codeSSL, "")))
		put(t, c, []byte("N"))
		expect(t, c, string(startPacket))
		return c
	}
	overTLS := func(t *testing.T, p play) net.Conn {
		c := secure(t, p.s.take(t), serverTLS(t))
		expect(t, c, string(startPacket))
		return c
	}
	refuse := func(t *testing.T, c net.Conn) {
		put(t, c, []byte(frame('E', refusal)))
		c.Close()
	}
	certFile, keyFile := certificateFiles(t)
	for _, tc := range []struct {
		name, params string
		script       func(t *testing.T, p play) net.Conn
	}{
		{"disable", "sslmode=disable", plain},
		{"prefer, server without TLS", "sslmode=prefer", refusesTLS},
		{"prefer, server with TLS", "sslmode=prefer", overTLS},
		{"prefer, session refused over TLS", "sslmode=prefer", func(t *testing.T, p play) net.Conn {
			refuse(t, overTLS(t, p))
			return plain(t, p)
		}},
		{"prefer, handshake fails", "sslmode=prefer", func(t *testing.T, p play) net.Conn {
			c := p.s.take(t)
			expect(t, c, string(startupPacket(codeSSL, "")))
			put(t, c, []byte("S"))
			c.Close()
			return plain(t, p)
		}},
		{"allow", "sslmode=allow", plain},
		{"allow, session refused without TLS", "sslmode=allow", func(t *testing.T, p play) net.Conn {
			refuse(t, plain(t, p))
			return overTLS(t, p)
		}},
		{"require", "sslmode=require", overTLS},
		{"verify-ca", "sslmode=verify-ca&sslrootcert=" + certFile, overTLS},
		{"verify-full", "sslmode=verify-full&sslrootcert=" + certFile, overTLS},
		{"direct", "sslmode=require&sslnegotiation=direct", func(t *testing.T, p play) net.Conn {
			cfg := serverTLS(t)
			cfg.NextProtos = []string{"postgresql"}
			c := tls.Server(p.s.take(t), cfg)
			expect(t, c, string(startPacket))
			if got := c.ConnectionState().NegotiatedProtocol; got != "postgresql" {
				t.Errorf("ALPN %q", got)
			}
			return c
		}},
		{"client certificate", "sslmode=require&sslcert=" + certFile + "&sslkey=" + keyFile, func(t *testing.T, p play) net.Conn {
			cfg := serverTLS(t)
			cfg.ClientAuth = tls.RequireAnyClientCert
			c := secure(t, p.s.take(t), cfg)
			expect(t, c, string(startPacket))
			if n := len(c.ConnectionState().PeerCertificates); n != 1 {
				t.Errorf("%d client certificates", n)
			}
			return c
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, "127.0.0.1:0")
			r := serve(t, s.url(tc.params), nil)
			p := play{s, r.start(t)}
			c := tc.script(t, p)
			put(t, c, []byte(signedOn))
			expect(t, p.client, signedOn)
			query := frame('Q', strings.Repeat("x", 100_000)+"\x00")
			put(t, p.client, []byte(query))
			expect(t, c, query)
			put(t, c, []byte(frame('D', strings.Repeat("y", 100_000))+frame('Z', "I")))
			p.client.(*net.TCPConn).CloseWrite()
			if got := readRest(t, c); got != "" {
				t.Errorf("the server got %q", shorten(got))
			}
			c.Close()
			if got, want := readRest(t, p.client), frame('D', strings.Repeat("y", 100_000))+frame('Z', "I"); got != want {
				t.Errorf("the client got %q", shorten(got))
			}
		})
	}
}

// TestPlainClientOnTLS checks that a client without TLS is not offered to bind
// to the channel of a server with.
func TestPlainClientOnTLS(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=require"), nil)
	client := r.start(t)
	server := secure(t, s.take(t), serverTLS(t))
	expect(t, server, string(startPacket))
	put(t, server, []byte(frame('R', "\x00\x00\x00\x0aSCRAM-SHA-256-PLUS\x00SCRAM-SHA-256\x00\x00")))
	expect(t, client, frame('R', "\x00\x00\x00\x0aSCRAM-SHA-256\x00\x00"))
}

func TestConnectFailures(t *testing.T) {
	t.Parallel()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	noTLS := func(t *testing.T, s *scripted) {
		c := s.take(t)
		expect(t, c, string(startupPacket(codeSSL, "")))
		put(t, c, []byte("N"))
	}
	handshake := func(t *testing.T, s *scripted) {
		c := s.take(t)
		expect(t, c, string(startupPacket(codeSSL, "")))
		put(t, c, []byte("S"))
		tls.Server(c, serverTLS(t)).Handshake()
	}
	for _, tc := range []struct {
		name, url, params string
		script            func(t *testing.T, s *scripted)
		want              string
	}{
		{"refused", "postgres://secretuser:secretword@" + dead.Addr().String() + "/secretdb?sslmode=disable", "", nil, "connection refused"},
		{"no TLS", "", "sslmode=require", noTLS, "the server refuses TLS"},
		{"unknown authority", "", "sslmode=verify-full&sslrootcert=" + otherAuthority(t), handshake, "it cannot be reached"},
		{"silent", "", "sslmode=require&connect_timeout=1", func(t *testing.T, s *scripted) { s.take(t) }, "it does not answer in time"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, "127.0.0.1:0")
			if tc.url == "" {
				tc.url = s.url(tc.params)
			}
			var log bytes.Buffer
			r := serve(t, tc.url, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			client := r.start(t)
			if tc.script != nil {
				tc.script(t, s)
			}
			got := readRest(t, client)
			if got == "" || got[0] != 'E' || !strings.Contains(got, "C08006\x00Mpgidproxy: cannot connect to the server: "+tc.want) ||
				!strings.Contains(got, "PGIDPROXY_DATABASE_URL") {
				t.Errorf("the client is told %q", got)
			}
			r.stop(t)
			if n := strings.Count(log.String(), "connect to server"); n != 1 {
				t.Errorf("%d log lines, want 1: %s", n, log.String())
			}
			if strings.Contains(got+log.String(), "secret") {
				t.Errorf("a secret is told: %q %s", got, log.String())
			}
		})
	}
}

// otherAuthority returns the file of a certificate that signed nothing here.
func otherAuthority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tempFile(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestServerRefusal checks that the server's own words reach the client also
// when they were read to find out whether to go on elsewhere.
func TestServerRefusal(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	r := serve(t, s.url("sslmode=allow"), nil)
	client := r.start(t)
	c := s.take(t)
	expect(t, c, string(startPacket))
	put(t, c, []byte(frame('E', refusal)))
	c.Close()
	c = s.take(t)
	expect(t, c, string(startupPacket(codeSSL, "")))
	put(t, c, []byte("N"))
	if got, want := readRest(t, client), frame('E', refusal); got != want {
		t.Errorf("the client is told %q, want %q", got, want)
	}
}

func TestSeveralHosts(t *testing.T) {
	t.Parallel()
	down, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down.Close()
	starting := newScripted(t, "127.0.0.1:0")
	up := newScripted(t, "127.0.0.1:0")
	r := serve(t, "postgres://u@"+down.Addr().String()+","+starting.Addr().String()+","+up.Addr().String()+"/d?sslmode=disable", nil)
	client := r.start(t)
	c := starting.take(t)
	expect(t, c, string(startPacket))
	put(t, c, []byte(frame('E', "SFATAL\x00C57P03\x00Mstarting up\x00\x00")))
	c = up.take(t)
	expect(t, c, string(startPacket))
	put(t, c, []byte(signedOn))
	expect(t, client, signedOn)

	// A cancel request goes to where sessions are.
	cancel := startupPacket(codeCancel, "12345678")
	canceller := r.dial(t)
	put(t, canceller, cancel)
	c = up.take(t)
	expect(t, c, string(cancel))
	c.Close()
	if got := readRest(t, canceller); got != "" {
		t.Errorf("a cancel request is answered with %q", got)
	}
}

func TestTargetSessionAttrsRefused(t *testing.T) {
	t.Parallel()
	s := newScripted(t, "127.0.0.1:0")
	cfg := Config{Listeners: []net.Listener{s}}
	r := serve(t, s.url("sslmode=disable"), nil)
	cfg.Upstream = r.cfg.Upstream.Copy()
	if _, err := NewServer(cfg); err != nil {
		t.Errorf("any server: %v", err)
	}
	cfg.Upstream = mustParse(t, s.url("sslmode=disable&target_session_attrs=read-write"))
	if _, err := NewServer(cfg); err == nil {
		t.Error("target_session_attrs=read-write is taken")
	}
}
