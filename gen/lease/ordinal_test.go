package lease

import (
	"strings"
	"testing"
)

func TestOrdinal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		first, last int
		want        int
		err         string
	}{
		{"app-0", 0, 1023, 0, ""},
		{"app-1023", 0, 1023, 1023, ""},
		{"jobs-0", 100, 199, 100, ""},
		{"my-long-name-42", 100, 199, 142, ""},
		{"app-007", 0, 1023, 7, ""},
		{"app-1024", 0, 1023, 0, "stands for node 1024, which is out of range: there are nodes 0 to 1023"},
		{"app-100", 100, 199, 0, "stands for node 200, which is out of range: there are nodes 100 to 199"},
		{"app-99999999999999999999", 0, 1023, 0, "does not end in a dash and a number"},
		{"app", 0, 1023, 0, "does not end in a dash and a number"},
		{"app-", 0, 1023, 0, "does not end in a dash and a number"},
		{"app-x7", 0, 1023, 0, "does not end in a dash and a number"},
		{"app-+7", 0, 1023, 0, "does not end in a dash and a number"},
		{"7", 0, 1023, 0, "does not end in a dash and a number"},
		{"", 0, 1023, 0, "does not end in a dash and a number"},
	}
	for _, tt := range tests {
		got, err := Ordinal(tt.name, tt.first, tt.last)
		if tt.err == "" && (err != nil || got != tt.want) || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("Ordinal(%q, %d, %d): got %d, %v; want %d, %s", tt.name, tt.first, tt.last, got, err, tt.want, tt.err)
		}
	}
}
