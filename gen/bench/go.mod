module github.com/pgidproxy/pgidproxy/gen/bench

go 1.26.0

require (
	github.com/bwmarrin/snowflake v0.3.0
	github.com/gofrs/uuid/v5 v5.5.1
	github.com/google/uuid v1.6.0
	github.com/oklog/ulid/v2 v2.1.2
	github.com/pgidproxy/pgidproxy v0.0.0
	github.com/sony/sonyflake v1.2.0
)

replace github.com/pgidproxy/pgidproxy => ../..
