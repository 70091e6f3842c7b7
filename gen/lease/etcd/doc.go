// Package etcd keeps the records of a registry in etcd 3.4 or later.
//
// Under a prefix there are the key head, node/N with the record of each node, for
// good, and alive/N beside each record that is live: a key with the lease's TTL,
// which etcd removes when nobody renews. A write reads, then compares the
// revisions of head and record in the transaction that puts the new ones, so that
// a duplicate of it that comes late fails. Each write of a lease grants an etcd
// lease of its own: the transaction moves alive/N to it, and the one before ends
// by itself with no key left, as does one whose transaction failed. Where it ends
// before its transaction, which etcd refuses then, nothing was written. Whether
// alive/N is there decides only who may take a node; what has been minted the
// record tells.
//
// etcd keeps what it acknowledged, through restarts and changes of its leader.
// What remains is a cluster that was set up anew, which has another id or no head,
// and one that was set back to a backup, which may have the same id: its revision
// is lower than one that was seen, and who notices begins a new era. A program
// that was started only after that cannot notice.
//
// etcd tells no time: Since and Until are by the caller's clock.
package etcd
