package admin

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pgidproxy/pgidproxy/sql"
)

// catalogs collects what is known of the databases that are watched at the time
// of the scrape: a database that nobody uses any more leaves no series behind.
type catalogs struct {
	databases func() []sql.DatabaseStatus
}

var (
	catalogAge       = catalogDesc("age_seconds", "Time since the catalog was last read or found unchanged.")
	catalogReadable  = catalogDesc("readable", "1 if the last poll could read the catalog, 0 if not.")
	catalogRelations = catalogDesc("relations", "Relations in the catalog as it was last read.")
	catalogSessions  = catalogDesc("sessions", "Sessions to the database.")
)

func catalogDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("pgidproxy_catalog_"+name, help, []string{"database"}, nil)
}

// Describe is one of prometheus.Collector's methods.
func (c *catalogs) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range [...]*prometheus.Desc{catalogAge, catalogReadable, catalogRelations, catalogSessions} {
		ch <- d
	}
}

// Collect is the other one.
func (c *catalogs) Collect(ch chan<- prometheus.Metric) {
	for _, d := range c.databases() {
		name := label(d.Database)
		gauge := func(desc *prometheus.Desc, value float64) {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, name)
		}
		readable := 0.0
		if d.Readable() {
			readable = 1
		}
		gauge(catalogReadable, readable)
		gauge(catalogRelations, float64(d.Relations))
		gauge(catalogSessions, float64(d.Sessions))
		if !d.Confirmed.IsZero() {
			gauge(catalogAge, time.Since(d.Confirmed).Seconds())
		}
	}
}

// label makes a label of a name, which need not be UTF-8 as labels must.
func label(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return strconv.QuoteToASCII(name)
}
