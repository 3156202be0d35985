#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Puts what the experiments showed or refuted into the page, between its marks, also beside the paper's statements
(statements.tsv), and tables and pictures beside it.

usage: document.py RESULTS doc/registration.md
"""
import csv
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


def verdicts(results, name):
    """The verdicts of an experiment's claims, in their order."""
    with open(os.path.join(results, name + ".claims")) as file:
        return [line.split("\t")[0] for line in file.readlines()[1:] if not line.startswith("checker")]


def outcome(results, names):
    """What the claims RN.K of a statement come to."""
    found = {name: verdicts(results, name.split(".")[0])[int(name.split(".")[1]) - 1] for name in names}
    if set(found.values()) == {"shown"}:
        return "**shown**"
    return "; ".join("%s by %s" % ("**%s**" % verdict if verdict != "shown" else verdict,
                                   ", ".join(name for name in names if found[name] == verdict))
                     for verdict in ("shown", "refuted", "undecided") if verdict in found.values())


def statements(results):
    """The table of what the paper says beside what the claims have come to."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "statements.tsv"), newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))[1:]
    lines = ["| The paper | Claims | Outcome |", "|---|---|---|"]
    for statement, names, note in rows:
        names = names.split()
        found = [outcome(results, names)] if names else []
        lines.append("| %s | %s | %s |" % (statement, ", ".join(names), ". ".join(found + ([note] if note else []))))
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
    text = re.sub(r"<!-- statements -->.*?<!-- /statements -->",
                  lambda _: "<!-- statements -->\n%s\n<!-- /statements -->" % statements(results), text, flags=re.S)
    with open(page, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
