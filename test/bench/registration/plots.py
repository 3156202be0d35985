# SPDX-License-Identifier: BSD-2-Clause
"""Pictures of the experiments' tables: RN.csv becomes RN.svg. Plain SVG, of panels that stand side by side."""
import csv
import math
import os
from html import escape

COLOURS = ["#1f6fb4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#666666"]
WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 34, 46


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


def ticks(low, high, log):
    if log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        return [10.0 ** power for power in range(first, last + 1)]
    step = 10 ** math.floor(math.log10(max(high - low, 1e-9)))
    while (high - low) / step < 4:
        step /= 2
    while (high - low) / step > 8:
        step *= 2
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, int(math.floor(high / step + 1e-9)) + 1)]


def label(value):
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-2:
        return "%.0e" % value
    return "%g" % round(value, 4)


class Axis:
    def __init__(self, values, log, begin, end):
        values = [value for value in values if value is not None and (value > 0 or not log)]
        self.log, self.begin, self.end = log, begin, end
        self.low, self.high = (min(values), max(values)) if values else (0.1, 1)
        if not log:
            self.low = min(self.low, 0)
        if self.high == self.low:
            self.high = self.low + 1 if not log else self.low * 10
        if log:
            self.low, self.high = 10.0 ** math.floor(math.log10(self.low)), 10.0 ** math.ceil(math.log10(self.high))

    def place(self, value):
        if self.log:
            part = (math.log10(max(value, self.low)) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.begin + part * (self.end - self.begin)

    def ticks(self):
        return [tick for tick in ticks(self.low, self.high, self.log) if self.low * 0.999 <= tick <= self.high * 1.001]


class Panel:
    def __init__(self, title, x, y, log_x=False, log_y=False):
        self.title, self.x, self.y, self.log_x, self.log_y = title, x, y, log_x, log_y
        self.lines, self.bars = [], []

    def line(self, name, points, dashed=False):
        self.lines.append((name, [(x, y) for x, y in points if x is not None and y is not None], dashed))

    def bar(self, group, name, value):
        self.bars.append((group, name, value or 0))

    def frame(self, xs, ys):
        out = ['<text x="%d" y="16" class="title">%s</text>' % (LEFT, escape(self.title)),
               '<text x="%d" y="%d" class="axis" text-anchor="middle">%s</text>' % ((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, escape(self.x)),
               '<text transform="translate(12 %d) rotate(-90)" class="axis" text-anchor="middle">%s</text>'
               % ((TOP + HEIGHT - BOTTOM) / 2, escape(self.y))]
        for tick in ys.ticks():
            at = ys.place(tick)
            out.append('<path d="M%d %.1fH%d" class="grid"/><text x="%d" y="%.1f" text-anchor="end">%s</text>'
                       % (LEFT, at, WIDTH - RIGHT, LEFT - 5, at + 4, label(tick)))
        for tick in xs.ticks() if xs else []:
            at = xs.place(tick)
            out.append('<path d="M%.1f %dV%d" class="grid"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>'
                       % (at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 15, label(tick)))
        return out

    def legend(self, names):
        out = []
        for i, name in enumerate(names):
            y = TOP + 12 + 14 * i
            out.append('<rect x="%d" y="%d" width="10" height="10" fill="%s"/><text x="%d" y="%d">%s</text>'
                       % (WIDTH - RIGHT - 150, y - 9, COLOURS[i % len(COLOURS)], WIDTH - RIGHT - 136, y, escape(name)))
        return out

    def draw(self):
        return self.draw_bars() if self.bars else self.draw_lines()

    def draw_lines(self):
        xs = Axis([x for _, points, _ in self.lines for x, _ in points], self.log_x, LEFT, WIDTH - RIGHT)
        ys = Axis([y for _, points, _ in self.lines for _, y in points], self.log_y, HEIGHT - BOTTOM, TOP)
        out = self.frame(xs, ys)
        for i, (_, points, dashed) in enumerate(self.lines):
            path = " ".join("%.1f,%.1f" % (xs.place(x), ys.place(y)) for x, y in points)
            out.append('<polyline points="%s" stroke="%s"%s/>'
                       % (path, COLOURS[i % len(COLOURS)], ' stroke-dasharray="5 3"' if dashed else ""))
        return out + self.legend([name for name, _, _ in self.lines])

    def draw_bars(self):
        groups = list(dict.fromkeys(group for group, _, _ in self.bars))
        names = list(dict.fromkeys(name for _, name, _ in self.bars))
        ys = Axis([value for _, _, value in self.bars], self.log_y, HEIGHT - BOTTOM, TOP)
        out = self.frame(None, ys)
        room = (WIDTH - LEFT - RIGHT) / len(groups)
        width = room * 0.8 / len(names)
        small = len(groups) > 10
        for g, group in enumerate(groups):
            middle = LEFT + room * (g + 0.5)
            turned = ' transform="rotate(-60 %.1f %d)" text-anchor="end"' % (middle, HEIGHT - BOTTOM + 10) if small else ' text-anchor="middle"'
            out.append('<text x="%.1f" y="%d"%s%s>%s</text>'
                       % (middle, HEIGHT - BOTTOM + (10 if small else 15), turned, ' class="small"' if small else "", escape(group)))
        for group, name, value in self.bars:
            if self.log_y and value <= 0:
                continue
            at = LEFT + room * (groups.index(group) + 0.1) + width * names.index(name)
            top = ys.place(value)
            out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>'
                       % (at, top, width * 0.95, HEIGHT - BOTTOM - top, COLOURS[names.index(name) % len(COLOURS)]))
        return out + (self.legend(names) if len(names) > 1 else [])


def write(path, panels):
    with open(path, "w") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">\n'
                   % (WIDTH * len(panels), HEIGHT, WIDTH * len(panels), HEIGHT))
        file.write("<style>text{font:10px sans-serif;fill:#333}.title{font-size:13px;font-weight:bold}.axis{font-size:11px}"
                   ".small{font-size:8px}.grid{stroke:#ddd}polyline{fill:none;stroke-width:1.6}</style>\n"
                   '<rect width="100%" height="100%" fill="#fff"/>\n')
        for i, panel in enumerate(panels):
            file.write('<g transform="translate(%d 0)">%s</g>\n' % (i * WIDTH, "\n".join(panel.draw())))
        file.write("</svg>\n")


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


def cost(rows):
    panels = [Panel("A write: post and completion", "mode", "ns, median"), Panel("A write: post and completion", "mode", "instructions")]
    for row in rows:
        panels[0].bar(row["mode"], "ns", number(row["ns_median"]))
        panels[1].bar(row["mode"], "instructions", number(row["instructions"]))
    return panels


DRAWN = {"R1": newcomers, "R2": hoarder, "R3": grace, "R4": waiting, "R5": policies, "R6": liars, "R7": recovery, "R8": classes, "R9": ways,
         "R10": unmodified, "R11": cost}


def draw(results, name):
    rows = read(results, name)
    if rows:
        write(os.path.join(results, name + ".svg"), DRAWN[name](rows))
