// Package rewrite plans what is changed in a text of SQL: text in, a plan or a
// reason for every call that is left alone out. It knows no sockets, no clock
// and no server; what a database holds comes in as a Catalog.
//
// A call of next_snowflake() or uuidv7() is replaced only where PostgreSQL is
// certain to evaluate it exactly once, since the value put in is evaluated as
// often as it likes. Everything that the planner does not know leaves the call
// to the server, whose function does the work: declining is always right.
//
// PostgreSQL's own grammar says what a text means. A lexer of our own finds the
// bytes to change, and the shape of the text, by which plans are kept. Text is
// spliced, never printed anew.
//
// A value that is known when a statement is planned is also computed with then,
// and an error of that comes early: before a branch is chosen, before another
// function runs, before a SELECT's columns are described. So what could fail with
// the value is replaced only where none of this can be seen. The cast to an
// INSERT's column is not known here: an id for a column too narrow for it fails
// as it always did, but before triggers and functions beside it have run.
package rewrite
