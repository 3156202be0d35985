# SPDX-License-Identifier: BSD-2-Clause
# Turns the output of scdoc into a page that passes mandoc -T lint and whose identifiers can be
# searched and copied. No word is hyphenated (scdoc's own request stands before .TH, which undoes
# it), hyphens are typed ones at which no line is broken, the title is in upper case, and paragraph
# macros without effect and lines longer than 80 bytes are gone.

function emit(line) {
    # A paragraph macro at the end of an indented block belongs behind the block; one before a
    # heading does nothing.
    if (line == ".RE") {
        print line
        return
    }
    if (paragraph && line !~ /^\.S[HS] /) print ".P"
    paragraph = 0
    print line
}

# Breaks a line at the last space before the limit, never where the next line would begin as a
# request does.
function wrap(text,   at) {
    while (length(text) > 80) {
        for (at = 80; at > 0 && (substr(text, at, 1) != " " || substr(text, at + 1, 1) ~ /[.' ]/); --at) ;
        if (at <= 1) break
        emit(substr(text, 1, at - 1))
        text = substr(text, at + 1)
    }
    emit(text)
}

/^\.(nh|ad l)$/ { next }
/^\.TH / {
    $2 = toupper($2)
    print
    print ".nh"
    print ".ad l"
    next
}
/^\.P$/ { paragraph = !after_heading; next }
/^\.nf/ { literal = 1 }
/^\.fi/ { literal = 0 }
{ after_heading = /^\.(SH|SS) / }
/^[.']/ || /^\\h'/ { emit($0); next }
{
    gsub(/\\-/, "-")
    gsub(/-/, "\\-")
    if (literal) emit($0); else wrap($0)
}
