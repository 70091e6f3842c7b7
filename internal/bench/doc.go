// Package bench measures, on a user's own server, what kinds of keys do to a
// B-tree and what the proxy costs, and reports it: tables, JSON, CSV, pictures
// and one page of HTML.
//
// What is measured on the server, and how, is the SQL of sql/bench, which psql
// runs as well: this package takes the steps that the SQL lists, and neither
// counts nor sums up anything of its own. It adds what psql cannot: it refuses to
// run where that would hurt, shows how far it is, cleans up when it is
// interrupted, and draws.
//
// Every sentence that a report states is made from the run's own numbers.
package bench
