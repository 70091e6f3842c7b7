package main

import (
	"io"
	"log/slog"
	"regexp"
)

// secrets are the places of a connection string that hold a password: before
// the last @ of a URL, and the value of a key or a parameter of that name.
var secrets = []struct {
	pattern *regexp.Regexp
	shown   string
}{
	{regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/@]*):[^\s]*@`), "$1:xxxxx@"},
	{regexp.MustCompile(`(?i)((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)`), "${1}xxxxx"},
}

// redact takes passwords out of a text that may quote a connection string. All
// that is printed or logged on standard error goes through it.
func redact(text string) string {
	for _, s := range secrets {
		text = s.pattern.ReplaceAllString(text, s.shown)
	}
	return text
}

// newLog makes the program's logger.
func newLog(w io.Writer, format, level string) *slog.Logger {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		panic(err) // kong takes no other levels
	}
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: redactAttr}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func redactAttr(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(redact(a.Value.String()))
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok {
			a.Value = slog.StringValue(redact(err.Error()))
		}
	}
	return a
}
