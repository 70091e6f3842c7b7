package rewrite

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"next_snowflake", "NEXT_SnowFlake", "id_to_timestamp", "uuidv7", "UUIDV7", `U&"`, `u&"`} {
		for _, fill := range []string{" ", "_", "7", "&", "v", "ü", "_s", "v7_t"} {
			for before := range 40 {
				for _, after := range []int{0, 1, 7, 8, 17, 33} {
					text := strings.Repeat(fill, before) + name + strings.Repeat(fill, after)
					if !Mentions([]byte(text)) {
						t.Fatalf("not found in %q", text)
					}
					cut := strings.Repeat(fill, before) + name[:len(name)-1] + "." + strings.Repeat(fill, after)
					if Mentions([]byte(cut)) {
						t.Fatalf("found in %q", cut)
					}
				}
			}
		}
	}
	for _, text := range []string{"", "n", "_", "7", "&", plainInsert, plainRows, `u & "`, "next_snowflak", "uuidv4()"} {
		if Mentions([]byte(text)) {
			t.Errorf("found in %.60q", text)
		}
	}
}

var mentioned = regexp.MustCompile(`(?i)next_snowflake|id_to_timestamp|uuidv7|u&"`)

func FuzzMentions(f *testing.F) {
	for _, text := range []string{shortInsert, plainInsert, `U&"uuidv`, "xuUuIdV7x", "________next_Snowflake_______7"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		// Go folds ſ and K (the Kelvin sign) to letters, PostgreSQL does not.
		if bytes.ContainsAny(text, "ſ\u212a") {
			return
		}
		if got, want := Mentions(text), mentioned.Match(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	})
}
