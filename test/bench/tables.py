# SPDX-License-Identifier: BSD-2-Clause
"""What test/bench/table and table_kernel share: measurements read, a table written as text, markdown put into a document."""
import os
import platform
import time
from typing import NamedTuple, Optional


class Sample(NamedTuple):
    """A measurement. Where two processors talk to each other, `state`, `floor` and `group` are what states.py says."""
    value: float
    state: Optional[str] = None
    floor: Optional[float] = None
    group: Optional[int] = None


def pairs(ours, theirs):
    """The values of samples that may be set against each other: of one group, in one state; where there are no groups, in their order."""
    if not any(sample.group for sample in ours):
        return [(above.value, below.value) for above, below in zip(ours, theirs)]
    beside = {(sample.group, sample.state): sample.value for sample in theirs}
    return [(sample.value, beside[sample.group, sample.state]) for sample in ours if (sample.group, sample.state) in beside]


def read_runs(path):
    """Returns all samples of each key, why a key is missing, and the remarks."""
    runs, missing, remarks = {}, {}, []
    for line in open(path, encoding="ascii"):
        if line.startswith("#"):
            remarks.append(line[1:].strip())
            continue
        key, value = line.split(None, 1)
        if value.startswith("missing"):
            missing[key] = value[len("missing"):].strip() or "not measured"
        else:
            runs.setdefault(key, []).append(sample_of(value.split()))
    return runs, missing, remarks


def sample_of(words):
    if len(words) == 1:
        return Sample(float(words[0]))
    value, state, floor, group = words
    return Sample(float(value), state, float(floor), int(group))


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8", errors="replace")
                  if line.startswith("model name")), platform.machine())
    return {"processor": model, "processors": os.cpu_count(), "kernel": platform.release().split("-")[0],
            "load": round(os.getloadavg()[0], 2), "time": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}


def number(value):
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def aligned(lines, left):
    """One text line for each list of cells; `left` are the columns that are not numbers."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(cell.ljust(width) if i in left else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines]


def markdown_table(headings, lines):
    return ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings), *("| " + " | ".join(line) + " |" for line in lines)]
