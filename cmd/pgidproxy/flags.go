package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/jackc/pgx/v5"

	"github.com/pgidproxy/pgidproxy/gen"
	"github.com/pgidproxy/pgidproxy/rewrite"
)

// A databaseURL is a connection string as libpq takes it, a URL or key=value
// pairs. What it leaves out comes from libpq's environment variables and files;
// a database that none of them names is called like the user.
type databaseURL struct {
	config *pgx.ConnConfig // nil: none given
}

// quoted are the parts of a message that quote what could not be read, which
// may be half a password.
var quoted = regexp.MustCompile("`[^`]*`|\"(?:[^\"\\\\]|\\\\.)*\"")

// UnmarshalText reads a connection string.
func (u *databaseURL) UnmarshalText(text []byte) error {
	config, err := pgx.ParseConfig(string(text))
	if err != nil {
		return errors.New(quoted.ReplaceAllString(err.Error(), "…"))
	}
	config.Database = cmp.Or(config.Database, config.User)
	u.config = config
	return nil
}

// A byteSize is a number of bytes: 4096, 512KiB, 1MiB.
type byteSize int64

// units are what a byteSize may end with; B is the end of the others.
var units = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// largestSize is what the server takes in one message.
const largestSize = 1 << 30

// UnmarshalText reads a size.
func (b *byteSize) UnmarshalText(text []byte) error {
	digits, factor := string(text), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(digits, u.name); ok {
			digits, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a size such as 4096, 512KiB or 1MiB", text)
	}
	if n > largestSize/factor {
		return fmt.Errorf("%s is more than a message can hold (1GiB)", text)
	}
	*b = byteSize(n * factor)
	return nil
}

// A serialMode is the value of --replace-serial, which may be left out.
type serialMode rewrite.SerialMode

func (m serialMode) mode() rewrite.SerialMode { return rewrite.SerialMode(m) }

// IsBool makes the value optional.
func (m *serialMode) IsBool() bool { return true }

// Decode reads the value.
func (m *serialMode) Decode(ctx *kong.DecodeContext) error {
	value := "true"
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		value = fmt.Sprint(ctx.Scan.Pop().Value)
	}
	switch strings.ToLower(value) {
	case "false", "0", "no":
		*m = serialMode(rewrite.SerialKept)
	case "true", "1", "yes":
		*m = serialMode(rewrite.SerialReplaced)
	case "always":
		*m = serialMode(rewrite.IdentityReplaced)
	default:
		return fmt.Errorf("%q is none of true, false and always", value)
	}
	return nil
}

// checkNode tells whether a number given with a flag is a node's.
func checkNode(flag string, node int) error {
	if node < 0 || node > gen.MaxNode {
		return fmt.Errorf("%s %d is out of range: a node number is 0 to %d", flag, node, gen.MaxNode)
	}
	return nil
}
