package main

import (
	"context"

	"github.com/pgidproxy/pgidproxy/gen/lease"
	"github.com/pgidproxy/pgidproxy/sql"
)

// registry reads the registry.
func (c *doctorCommand) registry(ctx context.Context) *sql.DoctorRegistry {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	r := &sql.DoctorRegistry{Implied: !c.Registry.given()}
	store, err := c.Registry.or(c.DatabaseURL.config).open(ctx, false)
	if err != nil {
		r.Err = redact(err.Error())
		return r
	}
	defer store.Close()
	s, err := store.Load(ctx)
	if err != nil {
		r.Err = redact(err.Error())
		return r
	}
	r.Wait, r.Problems = s.Wait, problems(s)
	if s.Head != nil {
		r.ID = s.Head.ID
	}
	for _, rec := range s.Records {
		if rec.Kind == lease.KindFunctions || rec.Kind == lease.KindLease && rec.Live {
			r.Nodes = append(r.Nodes, sql.DoctorNode{Node: rec.Node, Functions: rec.Kind == lease.KindFunctions, Holder: rec.Holder})
		}
	}
	if w, ok := store.(warner); ok {
		warnings, err := w.Warnings(ctx)
		if err != nil {
			warnings = []string{"its settings cannot be read: " + redact(err.Error())}
		}
		r.Problems = append(r.Problems, warnings...)
	}
	return r
}

// problems says what is wrong with a registry, but for that it is empty or waits.
func problems(s lease.Snapshot) []string {
	if s.Head == nil {
		return nil
	}
	s.Wait = 0
	return report(s).Problems
}
