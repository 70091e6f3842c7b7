package sql

const listen = "LISTEN pgidproxy_catalog"
