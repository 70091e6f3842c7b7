// Package migrate changes the auto-increment key of a live table to
// DEFAULT next_snowflake() or uuidv7(), together with the columns that refer to
// it, and back again.
//
// A plan is data: a list of steps with their statements, what these lock, how
// the result is checked in the tables themselves, and the way back. It is made
// once from the catalog and stored with the job, so that a run that was killed
// goes on where it was: a step commits together with the record of it, and the
// few that PostgreSQL runs outside of transactions find out what is there.
//
// No writer is ever made to fail or wait for long: no statement waits for a
// row, and while several tables are being locked none that is locked already is
// kept for longer than a deadlock takes to be noticed.
package migrate
