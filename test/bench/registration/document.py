#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Puts what the experiments showed or refuted into the page, between its marks, and tables and pictures beside it.

usage: document.py RESULTS doc/registration.md
"""
import os
import re
import shutil
import sys


def claims(results, name):
    path = os.path.join(results, name + ".claims")
    if not os.path.exists(path):
        return None
    with open(path) as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    looked_at = wrong = 0
    lines = []
    for verdict, text, numbers in rows:
        if verdict == "checker":
            found = re.match(r"(\d+) looked at, (\d+) wrong", numbers)
            looked_at, wrong = looked_at + int(found.group(1)), wrong + int(found.group(2))
        else:
            lines.append("- %s: **%s** (%s)." % (text[0].upper() + text[1:], verdict, numbers))
    lines.append("- Checker: %d looked at, %d wrong." % (looked_at, wrong))
    return "\n".join(lines)


def main():
    results, page = sys.argv[1:]
    with open(page) as file:
        text = file.read()
    beside = os.path.join(os.path.dirname(page), "registration")
    os.makedirs(beside, exist_ok=True)
    for name in re.findall(r"<!-- (R\d+) -->", text):
        found = claims(results, name)
        if found is None:
            continue
        picture = "\n\n![%s](registration/%s.svg)" % (name, name) if os.path.exists(os.path.join(results, name + ".svg")) else ""
        text = re.sub(r"<!-- %s -->.*?<!-- /%s -->" % (name, name),
                      lambda _: "<!-- %s -->\n%s%s\n<!-- /%s -->" % (name, found, picture, name), text, flags=re.S)
        for file in os.listdir(results):
            if re.fullmatch(name + r"(-\w+)?\.(csv|svg)", file):
                shutil.copyfile(os.path.join(results, file), os.path.join(beside, file))
    with open(page, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
