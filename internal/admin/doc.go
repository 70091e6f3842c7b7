// Package admin serves what operators ask of a running proxy, over HTTP:
// metrics, health and readiness, and profiles for callers on the same machine.
// It counts what sessions report and asks functions for the rest; it knows
// neither the protocol nor how any of it comes about.
//
// The number of series is bounded: label values are constants of this program,
// but for the names of databases that are watched.
package admin
