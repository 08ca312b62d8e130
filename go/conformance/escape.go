package conformance

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The most characters to show of one text.
const longest = 2000

// escape makes one visible line of text from a hub. Anyone who can write a ClusterProfile controls its values: they
// must not move a terminal's cursor, forge a line of the log, or give a command to a CI system.
func escape(text string) string {
	var shown strings.Builder
	count := 0
	for at, r := range text {
		if count++; count > longest {
			shown.WriteString("… ")
			shown.WriteString(strconv.Itoa(utf8.RuneCountInString(text[at:])))
			shown.WriteString(" more characters")
			break
		}
		if strconv.IsPrint(r) {
			shown.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		shown.WriteString(quoted[1 : len(quoted)-1])
	}
	// Workflow runners act on `##[error]` and `##vso[…]` anywhere in a line.
	return strings.ReplaceAll(shown.String(), "##", `#\x23`)
}
