package conformance

import (
	"strconv"
	"strings"
)

// The most characters to show of one text.
const longest = 2000

// escape makes one visible line of text from a hub. Anyone who can write a ClusterProfile controls its values: they
// must not move a terminal's cursor, forge a line of the log, or give a command to a CI system.
func escape(text string) string {
	characters := []rune(text)
	if len(characters) > longest {
		text = string(characters[:longest]) + "…"
	}
	quoted := strconv.Quote(text)
	text = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
	// Workflow runners act on `##[error]` and `##vso[…]` anywhere in a line.
	return strings.ReplaceAll(text, "##", `#\x23`)
}
