# SPDX-License-Identifier: BSD-2-Clause
"""Samples of work in which two processors talk to each other.

The processors of a virtual machine may share a core or a cache at one time and neither at another, and all that goes from one to the
other then takes several times as long. So each sample stands between two measurements of the floor: the time that a cache line takes
from one processor to the other. They tell the sample's state. Where they differ, the state has changed meanwhile, and the sample is taken
again. Samples to be compared are taken one beside the other, as a group.
"""
import collections
import itertools
import time

from runner import Failed

STATES = ("near", "far")
FAR = 0.12  # us: a floor from here on means that the processors share neither a core nor a cache
STEADY = 1.25  # floors of one state differ by less than this factor
PAIRS = 7  # groups that a ratio needs, in each state
SAMPLES = 3  # of a peer alone, whose values are only reported
MOST_FAILURES = 3
LIMIT = 480  # seconds for all groups
PATIENCE = 15  # seconds that a sample may wait for its state
FLOOR_MS = "10"


def state_of(floor):
    return "far" if floor >= FAR else "near"


class Unsteady(Exception):
    """The machine did not keep its state for the time of one measurement."""


class Sampler:
    def __init__(self, bench):
        self.bench = bench
        self.numbers = itertools.count(1)
        self.taken = self.discarded = 0
        self.failures = collections.Counter()  # by the first key of what has failed
        self.complete = {}  # {(name, state): groups all of whose samples have this state}
        self.states = set()  # that were met
        self.main_state = None  # the one that the machine is in most of the time; None: not known

    def floor(self):
        """Microseconds of a cache line's way."""
        ((_, round_trip),) = self.bench.run_floors(FLOOR_MS, "cache_line")
        return float(round_trip) / 2

    def sample(self, measure, wanted=None):
        """What measure() returns, and the state and floor it was taken in. `wanted`: the only state that will do."""
        end = time.monotonic() + PATIENCE
        before = self.floor()
        while time.monotonic() < end:
            if wanted and state_of(before) != wanted:
                before = self.floor()
                continue
            values = measure()
            after = self.floor()
            self.taken += 1
            if max(before, after) < STEADY * min(before, after):
                return values, state_of(after), (before + after) / 2
            self.discarded += 1
            before = after
        raise Unsteady

    def record(self, keys, measure, ours, number, wanted=None):
        """One sample, whose values belong to the keys in order. Returns its state."""
        if self.is_gone(keys, ours):
            return None
        try:
            values, state, floor = self.sample(measure, wanted)
            for key, value in zip(keys, values, strict=True):
                self.bench.record(key, f"{value} {state} {floor:.4f} {number}")
            return state
        except Unsteady:
            return None
        except Failed as failure:
            self.failures[keys[0]] += 1
            if self.is_gone(keys, ours):
                self.bench.fail(keys, ours, failure)
            return None

    def is_gone(self, keys, ours):
        """A peer may fail now and then; ours must not."""
        return self.failures[keys[0]] >= (1 if ours else MOST_FAILURES)

    def group(self, name, members):
        """Samples of all members, each a triple of keys, measure and whether the program is ours."""
        number = next(self.numbers)
        states = {self.record(keys, measure, ours, number) for keys, measure, ours in members} - {None}
        self.states |= states
        if len(states) == 1:
            self.complete[name, *states] = self.complete.get((name, *states), 0) + 1

    def in_main_state(self, key, measure, ours):
        """A single sample of the state that the machine is in most of the time."""
        self.record([key], measure, ours, next(self.numbers), self.main_state)

    def wants(self, members):
        if self.bench.short:
            return 1
        return PAIRS if any(ours for _, _, ours in members) else SAMPLES

    def lacking(self, groups, state):
        """{name: how often it has been complete in a state} of those for which that is not enough."""
        done = {name: self.complete.get((name, state), 0) for name in groups}
        return {name: count for name, count in done.items() if count < self.wants(groups[name]) and
                not all(self.is_gone(keys, ours) for keys, _, ours in groups[name])}

    def rounds(self, groups):
        """Takes groups until each has been complete often enough in each state that is met. `groups`: {name: members}."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            state = state_of(self.floor())
            self.states.add(state)
            lacking = self.lacking(groups, state)
            if lacking:
                name = min(lacking, key=lacking.get)
                self.group(name, groups[name])
            elif not any(self.lacking(groups, met) for met in self.states):
                break
            else:
                time.sleep(0.02)
        self.bench.output.write(f"# {self.discarded} of {self.taken} samples were taken again, since the state had changed meanwhile\n")
