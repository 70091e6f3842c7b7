// Package devpg runs a private PostgreSQL server for `pgidproxy dev` and for
// tests: it finds the server programs, makes a data directory, starts the
// server on a free port of the loopback interface and ends it. It knows nothing
// of the proxy.
//
// No server outlives the process that started it, however that ends: Linux
// signals the server when its parent dies, and on every system a small shell
// waits for the end of a pipe that the parent holds, stops what is left and
// removes a temporary data directory.
package devpg
