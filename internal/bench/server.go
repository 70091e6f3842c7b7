package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A Server is where a run takes place, as far as it matters to the figures.
type Server struct {
	Version  string            `json:"version"`
	Settings map[string]string `json:"settings"`
	Machine  string            `json:"machine"` // of this program, where the server runs as well; "" elsewhere
	Proxied  bool              `json:"proxied"` // ids come from a proxy
	Others   int               `json:"others"`  // other sessions that were active at the beginning

	sharedBuffers int64 // bytes
	maxWAL        int64
	dataDir       string // "" unless this role may know it and it is on this machine
	pid           uint32
	major         int
}

// shownSettings are those that the figures depend on.
var shownSettings = []string{
	"shared_buffers", "full_page_writes", "wal_compression", "wal_level", "fsync", "synchronous_commit",
	"checkpoint_timeout", "max_wal_size", "data_checksums", "block_size",
}

func readServer(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig) (*Server, error) {
	s := &Server{Settings: make(map[string]string)}
	var dataDir *string
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::int / 10000,
		pg_size_bytes(current_setting('shared_buffers')), pg_size_bytes(current_setting('max_wal_size')), pg_backend_pid(),
		(SELECT setting FROM pg_settings WHERE name = 'data_directory'),
		(SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND backend_type = 'client backend')`).
		Scan(&s.Version, &s.major, &s.sharedBuffers, &s.maxWAL, &s.pid, &dataDir, &s.Others)
	if err != nil {
		return nil, err
	}
	s.Version, _, _ = strings.Cut(s.Version, " ")
	for _, name := range shownSettings {
		var value string
		if err := conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
			return nil, err
		}
		s.Settings[name] = value
	}
	if s.Proxied, err = throughProxy(ctx, conn); err != nil {
		return nil, err
	}
	if here(config.Host) {
		s.Machine = machine()
		if dataDir != nil && isDataDir(*dataDir) {
			s.dataDir = *dataDir
		}
	}
	return s, nil
}

// throughProxy tells whether ids come from a proxy: they have another node than
// those of the database's own functions.
func throughProxy(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var installed bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('pgid.config') IS NOT NULL").Scan(&installed); err != nil || !installed {
		return false, err
	}
	var schema string
	var own int
	if err := conn.QueryRow(ctx, "SELECT quote_ident(schema), function_node FROM pgid.config").Scan(&schema, &own); err != nil {
		return false, err
	}
	var id int64
	if err := conn.QueryRow(ctx, "SELECT "+schema+".next_snowflake() AS id").Scan(&id); err != nil {
		return false, err
	}
	return int(id>>12&1023) != own, nil
}

// checkSchema refuses where a run is under way or was kept.
func checkSchema(ctx context.Context, conn *pgx.Conn) error {
	var there bool
	err := conn.QueryRow(ctx, "SELECT to_regnamespace('pgid_bench') IS NOT NULL").Scan(&there)
	if err == nil && there {
		err = fmt.Errorf("schema %s is there already: another run is under way, or one was kept; remove it with DROP SCHEMA %[1]s CASCADE", Schema)
	}
	return err
}

// explained adds the server's hint to its error.
func explained(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == "P0001" && e.Hint != "" { // raised by our SQL
		return fmt.Errorf("%s. %s", e.Message, e.Hint)
	}
	return err
}

// here tells whether a host is this machine.
func here(host string) bool {
	if host == "" || strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") {
		return true
	}
	ips, err := net.LookupIP(host)
	if err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, ip := range ips {
		if ip.IsLoopback() {
			return true
		}
		for _, a := range own {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
				return true
			}
		}
	}
	return false
}

// isDataDir tells whether a directory of this machine is a server's: what
// answers at a loopback address may be a tunnel to another one. Its content is
// closed to others, but not that it is there, nor what is above it.
func isDataDir(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, "PG_VERSION"))
	return err == nil || os.IsPermission(err)
}

// machine describes the one that this program runs on.
func machine() string {
	parts := []string{strconv.Itoa(runtime.NumCPU()) + " CPUs"}
	if model := valueOf("/proc/cpuinfo", "model name"); model != "" {
		parts[0] += " (" + model + ")"
	}
	if kB, err := strconv.ParseInt(strings.TrimSuffix(valueOf("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		parts = append(parts, fmt.Sprintf("%.0f GiB of memory", float64(kB)/(1<<20)))
	}
	return strings.Join(append(parts, runtime.GOOS+"/"+runtime.GOARCH), ", ")
}

// valueOf returns what a file of lines "name : value" says first.
func valueOf(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
