// Package redis keeps the records of a registry in Redis, or in what speaks its
// protocol and runs its scripts: one server, or a primary whose address stays.
//
// Each method is one script, so that reading, comparing and writing are one step,
// on the server's clock. All keys have one hash tag, and none has a TTL: marks are
// kept for good. The server is known by its run_id, which every start draws anew,
// and by the id of its replication history: a server that was a replica in the
// meantime, and so may have lost writes, has another one. (It also has another
// one when its first replica comes, and an hour after the last one has gone: an
// era more than needed.) So a restart or a failover of Redis costs a TTL in which
// no node is handed out, and no id.
//
// What it cannot see: replication is asynchronous, so a primary that is cut off
// from its replicas and goes on for some clients, while others see one of them
// promoted, hands out the same nodes. min-replicas-to-write closes that; Warnings
// tells when it is off.
package redis
