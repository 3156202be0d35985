# SPDX-License-Identifier: BSD-2-Clause
"""The part of a page that a script makes: it stands between `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""
import sys


def split(page, name, path):
    """Returns the text before the part with its first marker, the part, and the rest from its last marker on."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        sys.exit(f"{path}: the markers '{begin.strip()}' and '{end}' must be there once each, in this order")
    at, until = page.index(begin) + len(begin), page.index(end)
    return page[:at], page[at:until], page[until:]


def read(path, name):
    with open(path, encoding="utf-8") as file:
        return split(file.read(), name, path)[1]


def replaced(path, name, text):
    """Returns the page with this text, which gets a line end, as its part."""
    with open(path, encoding="utf-8") as file:
        before, _, after = split(file.read(), name, path)
    return before + text + "\n" + after


def write(path, name, text):
    page = replaced(path, name, text)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)
