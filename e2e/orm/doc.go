// Package orm runs Go's ORMs and database drivers through the built program
// against a real PostgreSQL server:
//
//	cd e2e/orm && go test ./...
//
// Each goes through one scenario on models whose ids come from the database's
// defaults, once directly and once through the proxy, and both must end with the
// same rows but for the ids. Who made an id is told by the node in a snowflake,
// and for a uuid by the server's log: the proxy's are in what the server was sent.
//
// It is a module of its own, so that those libraries stay out of the product's
// go.mod.
package orm
