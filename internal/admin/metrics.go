package admin

import (
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/rewrite"
	"github.com/pgidproxy/pgidproxy/sql"
	"github.com/pgidproxy/pgidproxy/wire"
)

// Sources are what Metrics are made of beside the events. The functions are
// called at each scrape, from many goroutines.
type Sources struct {
	Version   string
	Node      func() int                   // -1: none is held
	Lease     func() *lease.Status         // nil: the node is not leased
	Plans     func() int                   // plans kept
	Lookups   func() (hits, misses uint64) // of plans, so far
	Databases func() []sql.DatabaseStatus  // those that are watched
}

// Metrics counts what sessions do. Its methods are safe for concurrent use and,
// but for Handler, allocate nothing. It is a wire.Observer.
type Metrics struct {
	registry *prometheus.Registry

	sessions               prometheus.Gauge
	opened, cancels        prometheus.Counter
	fromClient, fromServer prometheus.Counter
	statements             [wire.Left + 1]prometheus.Counter
	left                   map[rewrite.Reason]prometheus.Counter // never written to again
	snowflakes, uuids      prometheus.Counter
	refusals               prometheus.Counter
}

var _ wire.Observer = (*Metrics)(nil)

// NewMetrics returns Metrics with a registry of their own. All series are there
// from the beginning, so that the first event shows as an increase.
func NewMetrics(src Sources) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), left: map[rewrite.Reason]prometheus.Counter{}}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	m.sessions = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pgidproxy_sessions",
		Help: "Sessions that are open.",
	})
	m.registry.MustRegister(m.sessions)
	m.opened = m.counter("pgidproxy_sessions_opened_total", "Sessions that were opened.")
	bytes := m.counters("pgidproxy_session_bytes_total", "Bytes of sessions that have ended, by the side that sent them.", "side")
	m.fromClient, m.fromServer = bytes.WithLabelValues("client"), bytes.WithLabelValues("server")
	m.cancels = m.counter("pgidproxy_cancels_total", "Cancel requests that came in.")

	statements := m.counters("pgidproxy_statements_total", "Statements, by what was done with them.", "done")
	for outcome, done := range [...]string{wire.Passed: "passed", wire.Replaced: "replaced", wire.Left: "left"} {
		m.statements[outcome] = statements.WithLabelValues(done)
	}
	left := m.counters("pgidproxy_left_total", "Calls and statements that were left to the server, by the reason.", "reason")
	for _, r := range rewrite.Reasons() {
		m.left[r] = left.WithLabelValues(string(r))
	}
	ids := m.counters("pgidproxy_ids_total", "Ids that were put into statements.", "kind")
	m.snowflakes, m.uuids = ids.WithLabelValues("snowflake"), ids.WithLabelValues("uuidv7")
	m.refusals = m.counter("pgidproxy_mint_refusals_total", "Times that the generator did not mint: no node is held, its mark is reached, or the clock is too far back.")

	m.state(&src)
	m.registry.MustRegister(&catalogs{databases: src.Databases}, leases{src.Lease})
	return m
}

// state registers what is asked for at each scrape.
func (m *Metrics) state(src *Sources) {
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
	}
	gauge("pgidproxy_build_info", "1, labelled with the version of the program.",
		prometheus.Labels{"version": src.Version, "go_version": runtime.Version()}, func() float64 { return 1 })
	gauge("pgidproxy_node", "Node number that this proxy mints under, -1 while it holds none.", nil, func() float64 { return float64(src.Node()) })
	gauge("pgidproxy_plans", "Plans that are kept.", nil, func() float64 { return float64(src.Plans()) })
	lookups := func(result string, value func() float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "pgidproxy_plan_lookups_total",
			Help:        "Texts that may have something for us: whether their plan was kept (hit) or had to be made (miss).",
			ConstLabels: prometheus.Labels{"result": result},
		}, value))
	}
	lookups("hit", func() float64 { hits, _ := src.Lookups(); return float64(hits) })
	lookups("miss", func() float64 { _, misses := src.Lookups(); return float64(misses) })
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) counters(name, help, label string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	m.registry.MustRegister(c)
	return c
}

// Handler serves the metrics. What cannot be collected is logged and does not
// hide the rest.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError,
	})
}

// Opened counts a session in.
func (m *Metrics) Opened(wire.SessionInfo) {
	m.sessions.Inc()
	m.opened.Inc()
}

// Closed counts a session out.
func (m *Metrics) Closed(i wire.SessionInfo) {
	m.sessions.Dec()
	m.fromClient.Add(float64(i.FromClient))
	m.fromServer.Add(float64(i.FromServer))
}

// Cancelled counts a cancel request.
func (m *Metrics) Cancelled() { m.cancels.Inc() }

// Statement is one of wire.Observer's methods, and so are those that follow.
func (m *Metrics) Statement(o wire.Outcome) {
	if int(o) < len(m.statements) {
		m.statements[o].Inc()
	}
}

// Left counts what was left to the server.
func (m *Metrics) Left(r rewrite.Reason) {
	if c := m.left[r]; c != nil {
		c.Inc()
	}
}

// Minted counts ids.
func (m *Metrics) Minted(snowflakes, uuids int) {
	m.snowflakes.Add(float64(snowflakes))
	m.uuids.Add(float64(uuids))
}

// Refused counts what the generator did not mint.
func (m *Metrics) Refused() { m.refusals.Inc() }
