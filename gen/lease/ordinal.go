package lease

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pgidproxy/pgidproxy/gen"
)

// Ordinal returns the number at the end of a pod's name as a StatefulSet gives it
// (app-7), counted from the first node of a range. It is never masked: one that
// does not fit is an error.
func Ordinal(name string, first, last int) (int, error) {
	digits := name[strings.LastIndexByte(name, '-')+1:]
	n, err := strconv.Atoi(digits)
	if err != nil || len(digits) == len(name) || digits[0] == '+' {
		return 0, fmt.Errorf("%q does not end in a dash and a number, as the names of a StatefulSet's pods do (app-7): give the number itself, or a variable that holds such a name", name)
	}
	if last-first < n {
		return 0, fmt.Errorf("%q stands for node %d, which is out of range: there are nodes %d to %d (of at most 0 to %d)", name, first+n, first, last, gen.MaxNode)
	}
	return first + n, nil
}
