# SPDX-License-Identifier: BSD-2-Clause
"""Pictures of the experiments' tables: RN.csv becomes RN.svg."""
import csv
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from panels import Panel, write  # noqa: E402


def read(results, name):
    path = os.path.join(results, name + ".csv")
    if not os.path.exists(path):
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def lines_by(panel, rows, key, x, y, scale=1.0):
    for name in dict.fromkeys(row[key] for row in rows):
        panel.line(name, [(number(row[x]), number(row[y]) * scale if number(row[y]) is not None else None)
                          for row in rows if row[key] == name])
    return panel


def newcomers(rows):
    return [lines_by(Panel("Fairness while newcomers start", "ms", "Jain's index"), rows, "policy", "ms", "fairness"),
            lines_by(Panel("Part of the table in use", "ms", "utilisation"), rows, "policy", "ms", "utilisation")]


def hoarder(rows):
    panels = [Panel("What the busy process gets done", "policy", "I/Os a second"), Panel("Entries in use", "policy", "used of the table")]
    for row in rows:
        panels[0].bar(row["policy"], "I/Os", number(row["ios_per_second"]))
        panels[1].bar(row["policy"], "in use", number(row["busy_part"]))
    return panels


def grace(rows):
    panels = [Panel("Transfers cut off", "T, us", "a million", True, True), Panel("Time to get an entry", "T, us", "us", True, True)]
    for delays in dict.fromkeys(row["delays"] for row in rows):
        of = [row for row in rows if row["delays"] == delays]
        panels[0].line(delays, [(number(row["grace_us"]), max(number(row["failed_per_million"]), 1)) for row in of])
        panels[1].line(delays + " p50", [(number(row["grace_us"]), number(row["p50_us"])) for row in of])
        panels[1].line(delays + " p99", [(number(row["grace_us"]), number(row["p99_us"])) for row in of], True)
    return panels


def upcalls(rows):
    panels = [Panel("Writes cut off, T = 10 ms", "delay of the announcement, ms", "part"),
              Panel("The other process waits, T = 10 ms", "delay of the announcement, ms", "ms, median")]
    panels[0].line("a peer's write", [(number(row["delay_ms"]), number(row["cut"]) / number(row["rounds"])) for row in rows])
    panels[1].line("for the entry", [(number(row["delay_ms"]), number(row["waited_us_p50"]) / 1e3) for row in rows])
    return panels


def waiting(rows):
    panels = []
    for way in ("threads", "tickets"):
        panel = Panel("REGISTER-WAIT by " + way, "demand / capacity", "us", False, True)
        for reaper in ("none", "reaper"):
            for part in ("p50_us", "p99_us", "p999_us"):
                panel.line("%s, %s" % (part[:-3], "reaper" if reaper == "reaper" else "no reaper"),
                           [(number(row["demand"]), number(row[part])) for row in rows if row["way"] == way and row["reaper"] == reaper],
                           reaper == "none")
        panels.append(panel)
    return panels


def policies(rows):
    panels = [Panel("Hit rate", "policy", "part of the I/Os"), Panel("Evictions regretted", "policy", "of 1,000 I/Os")]
    for row in rows:
        name = "%s, %s" % ("told" if row["statistics"] == "told" else "not told",
                           "alternatives" if row["alternatives"] == "offered" else "as asked")
        panels[0].bar(row["policy"], name, number(row["hit_rate"]))
        panels[1].bar(row["policy"], name, number(row["regretted_per_1000"]))
    return panels


def liars(rows):
    panel = Panel("Beside a process that needs nothing", "policy", "hit rate")
    for row in rows:
        panel.bar(row["policy"], "honest" if row["neighbour"] == "honest" else "liar", number(row["hit_rate"]))
    return [panel]


def recovery(rows):
    panel = Panel("Recovery after kill -9, by step", "", "ms, median")
    for row in rows:
        if number(row["deaths"]):
            panel.bar(row["point"], "joined first" if row["part"] == "first" else "joined later", number(row["recovery_ms_median"]))
    return [panel]


def classes(rows):
    first = [row for row in rows if row["round"] == "0"]
    return [lines_by(Panel("Half of the table given back", "ms", "entries", True), first, "load", "ms", "given")]


def ways(rows):
    panels = [Panel("CPU", "bytes of an I/O", "us of CPU per I/O", False, True), Panel("Throughput", "bytes of an I/O", "I/Os a second", False, True),
              Panel("Entries in use", "bytes of an I/O", "entries")]
    for row in rows:
        for panel, column in zip(panels, ("cpu_us", "ios_per_second", "entries")):
            panel.bar(row["bytes"], row["way"], number(row[column]))
    return panels


def unmodified(rows):
    panel = Panel("Two programs with a pin-down cache", "", "finished (1: yes)")
    for row in rows:
        panel.bar(row["way"], "copy " + row["copy"], 1.0 if row["status"] == "0" else 0.0)
    return [panel]


def unwilling(rows):
    panels = [Panel("Given to the newcomer, who wants 16", "policy", "entries"), Panel("Until it has the last", "policy", "ms")]
    for row in rows:
        if row["round"] == "0":
            panels[0].bar(row["policy"], row["holder"], number(row["entries"]))
            panels[1].bar(row["policy"], row["holder"], number(row["ms"]))
    return panels


def peers(rows):
    panels = [Panel("Writes that find their region there", "entries for 64 regions", "part of the writes"),
              Panel("Writes that wait for it", "entries for 64 regions", "us, median", False, True)]
    for row in sorted(rows, key=lambda row: -int(row["entries"])):
        if row["round"] != "0":
            continue
        panels[0].bar(row["entries"], row["policy"], number(row["hit_rate"]))
        if row["returns"] != "0":
            panels[1].bar(row["entries"], row["policy"], number(row["median_us"]))
    return panels


def calls(rows):
    panels = [Panel("Calls", "entries for 64 buffers", "calls a second"), Panel("The client's processor time", "entries for 64 buffers", "us for a call")]
    for row in rows:
        for panel, column in zip(panels, ("calls_per_second", "cpu_us")):
            panel.bar(row["entries"], row["way"], number(row[column]))
    return panels


def greedy(rows):
    panels = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        panel = Panel("Registrations for outstanding transfers: " + policy, "ms", "entries")
        for flow in ("greedy", "modest"):
            panel.line(flow, [(number(row["ms"]), number(row[flow])) for row in rows if row["policy"] == policy])
        panels.append(panel)
    return panels


def pool(rows):
    panels = [Panel("The busy process", "connections", "requests a second"), Panel("Connects of the busy process", "connections", "for 1,000 requests"),
              Panel("A request after a pause", "connections", "us, median", False, True)]
    for row in rows:
        for panel, column in zip(panels, ("busy_per_second", "connects_per_1000", "burst_us_p50")):
            panel.bar(row["way"], "value", number(row[column]))
    return panels


def cost(rows):
    panels = [Panel("A write: post and completion", "mode", "ns, median"), Panel("A write: post and completion", "mode", "instructions")]
    for row in rows:
        panels[0].bar(row["mode"], "ns", number(row["ns_median"]))
        panels[1].bar(row["mode"], "instructions", number(row["instructions"]))
    return panels


DRAWN = {"R1": newcomers, "R2": hoarder, "R3": grace, "R4": waiting, "R5": policies, "R6": liars, "R7": recovery, "R8": classes, "R9": ways,
         "R10": unmodified, "R11": cost, "R12": unwilling, "R13": peers, "R14": calls, "R15": greedy, "R16": pool}


def draw(results, name):
    rows = read(results, name)
    if rows:
        panels = DRAWN[name](rows)
        if name == "R3":
            panels += upcalls(read(results, "R3-upcalls"))
        write(os.path.join(results, name + ".svg"), panels)
