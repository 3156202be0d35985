# SPDX-License-Identifier: BSD-2-Clause
"""Pictures for documents: plain SVG, of panels of lines or bars that stand side by side."""
import math
from html import escape

COLOURS = ["#1f6fb4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#666666"]
WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 34, 46


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
    """`legend_left`: where lines rise to the right, the room for their names is at the left."""

    def __init__(self, title, x, y, log_x=False, log_y=False, legend_left=False):
        self.title, self.x, self.y, self.log_x, self.log_y = title, x, y, log_x, log_y
        self.legend_at = LEFT + 8 if legend_left else WIDTH - RIGHT - 150
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
                       % (self.legend_at, y - 9, COLOURS[i % len(COLOURS)], self.legend_at + 14, y, escape(name)))
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
