package orm

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// statement is how the server's log begins what it was sent, in either protocol.
var statement = regexp.MustCompile(`^LOG:  (?:statement|execute [^:]*): `)

// sent returns the statements that the server was sent in this side's database,
// each with the values of its parameters.
func (s side) sent(t *testing.T) []string {
	t.Helper()
	server, _ := fixture(t)
	log, err := os.ReadFile(server.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	var statements []string
	ours := false // whether the last line with a prefix was a statement of this database
	for line := range strings.Lines(string(log)) {
		if strings.HasPrefix(line, "\t") {
			if ours {
				last := &statements[len(statements)-1]
				*last = strings.TrimLeft(*last+line, "\n\t ")
			}
			continue
		}
		text, here := strings.CutPrefix(line, s.db+"> ")
		if begin := statement.FindString(text); here && begin != "" {
			statements = append(statements, text[len(begin):])
			ours = true
		} else if detail, found := strings.CutPrefix(text, "DETAIL:  "); here && ours && found {
			statements[len(statements)-1] += detail
		} else {
			ours = false
		}
	}
	return statements
}

// inserts are the statements sent that insert into a table.
func (s side) inserts(t *testing.T, table string) []string {
	t.Helper()
	into := regexp.MustCompile(`(?i)^INSERT INTO "?` + table + `\b`)
	var found []string
	for _, sql := range s.sent(t) {
		if into.MatchString(sql) {
			found = append(found, sql)
		}
	}
	return found
}

var (
	parameters = regexp.MustCompile(`(?s)\n?parameters: .*`)
	literal    = regexp.MustCompile(`'[^']*'|\b[0-9]+\b`)
	row        = regexp.MustCompile(`(\([^()]*\)),(?: ?\([^()]*\),?)+`)
)

// shapes are the different statements among some, without values, and with the
// first of their rows alone.
func shapes(statements []string) []string {
	var shapes []string
	for _, sql := range statements {
		sql = strings.TrimSpace(parameters.ReplaceAllString(sql, ""))
		sql = row.ReplaceAllString(literal.ReplaceAllString(sql, "?"), "$1, …")
		if !slices.Contains(shapes, sql) {
			shapes = append(shapes, sql)
		}
	}
	return shapes
}
