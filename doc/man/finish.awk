# SPDX-License-Identifier: BSD-2-Clause
# What scdoc prints becomes a page of which mandoc -T lint has nothing to say, and whose identifiers can be searched and copied: no
# word is hyphenated (scdoc's own request stands before .TH, which takes it back), a hyphen is one that is typed and at which no
# line is broken, the title is in upper case, paragraph macros that do nothing and lines longer than 80 bytes are gone.

function emit(line) {
    # A paragraph at the end of an indented block belongs behind the block; one before a heading does nothing.
    if (line == ".RE") {
        print line
        return
    }
    if (paragraph && line !~ /^\.S[HS] /) print ".P"
    paragraph = 0
    print line
}

# Breaks at the last space before the limit; a line must not begin as a request does.
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
