package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pgidproxy/pgidproxy/gen/lease"
)

var (
	leaseHeld = prometheus.NewDesc("pgidproxy_lease_healthy",
		"1 while a node is held and the last heartbeat was acknowledged, otherwise 0.", nil, nil)
	leaseMark = prometheus.NewDesc("pgidproxy_lease_mark_seconds",
		"Time up to which ids may be minted, in seconds since 1970.", nil, nil)
	leaseRenewed = prometheus.NewDesc("pgidproxy_lease_renewed_seconds",
		"When the last heartbeat that was acknowledged was sent, in seconds since 1970.", nil, nil)
	clockOffset = prometheus.NewDesc("pgidproxy_clock_offset_seconds",
		"How far the clock is ahead of the registry's; not there while that is not known.", nil, nil)
)

// leases collects what is known of the lease. It is asked for at each scrape.
type leases struct {
	status func() *lease.Status
}

// Describe implements prometheus.Collector.
func (leases) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{leaseHeld, leaseMark, leaseRenewed, clockOffset} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (l leases) Collect(to chan<- prometheus.Metric) {
	s := l.status()
	if s == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	held := 0.0
	if s.Node >= 0 && s.Err == nil {
		held = 1
	}
	gauge(leaseHeld, held)
	if !s.Renewed.IsZero() {
		gauge(leaseMark, seconds(s.Mark))
		gauge(leaseRenewed, seconds(s.Renewed))
	}
	if s.Clocked {
		gauge(clockOffset, s.Offset.Seconds())
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1e3 }
