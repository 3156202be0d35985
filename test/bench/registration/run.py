#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the experiments about the registration broker and draws their pictures.

usage: run.py BUILD_DIRECTORY RESULTS [short] [R1...]

Each experiment leaves RN.csv, RN.claims (verdict, claim, numbers) and RN.svg. Exit status 1: a program failed, or a checker found
something wrong; that a claim is refuted is a result.
"""
import csv
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plots

ALL = ["R%d" % number for number in range(1, 17)]


class Bench:
    def __init__(self, build, results, short):
        self.build, self.results, self.short = build, results, short
        self.here = tempfile.mkdtemp(prefix="registration-")
        conf = os.path.join(self.here, "dat.conf")
        with open(conf, "w") as file:
            file.write('soft0 u2.0 nonthreadsafe default %s/.libs/libdaplsoft.so.2 dapl.2.0 "soft0 0" ""\n' % build)
        fabric = os.path.join(self.here, "fabric")
        os.mkdir(fabric, 0o700)
        self.environment = dict(os.environ, DAT_OVERRIDE=conf, SOFTVERBS_FABRIC=fabric, DAT_TEST_IA="soft0",
                                LD_LIBRARY_PATH=os.path.join(build, ".libs"))
        for name in [name for name in self.environment if name.startswith("OPENDAT_REG")]:
            del self.environment[name]
        # The experiments make the broker refuse peers on purpose, so these messages go to a file.
        self.environment["OPENDAT_LOG_FILE"] = os.path.join(self.here, "messages")
        self.failed = False

    def close(self):
        shutil.rmtree(self.here, ignore_errors=True)

    def tables(self, **settings):
        """An environment with a table of its own: REGISTRATIONS=..., ENTRIES=..."""
        directory = tempfile.mkdtemp(dir=self.here)
        found = dict(self.environment, OPENDAT_REGISTRATION_DIRECTORY=os.path.join(directory, "tables"))
        for name, value in settings.items():
            found["OPENDAT_REGISTRATIONS" if name == "MODE" else "OPENDAT_REGISTRATION_" + name] = str(value)
        return found

    def program(self, name):
        """The program itself, not libtool's script in front of it, which chooses libraries."""
        folder = os.path.join(self.build, "test/bench")
        plain = os.path.join(folder, os.path.dirname(name), ".libs", os.path.basename(name))
        return plain if os.path.exists(plain) else os.path.join(folder, name)

    def run(self, *command):
        if subprocess.run(command, env=self.environment, timeout=600).returncode != 0:
            print("%s failed" % " ".join(command), file=sys.stderr)
            self.failed = True


class Claims:
    """As Experiment in results.hpp."""

    def __init__(self, bench, name, more=False):
        self.name = name
        self.file = open(os.path.join(bench.results, name + ".claims"), "a" if more else "w")
        if not more:
            self.file.write("verdict\tclaim\tnumbers\n")

    def claim(self, statement, shown, numbers):
        verdict = "shown" if shown else "refuted"
        print("%s: %s: %s (%s)" % (self.name, statement, verdict, numbers), flush=True)
        self.file.write("%s\t%s\t%s\n" % (verdict, statement, numbers))

    def check(self, bench, what, looked_at, wrong):
        print("%s: checker: %s: %d looked at, %d wrong" % (self.name, what, looked_at, wrong), flush=True)
        self.file.write("checker\t%s\t%d looked at, %d wrong\n" % (what, looked_at, wrong))
        bench.failed = bench.failed or wrong != 0

    def close(self):
        self.file.close()


def table(bench, name, columns):
    file = open(os.path.join(bench.results, name + ".csv"), "w", newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    return file, writer


def cache_programs(bench, environment, cache, regions, count, privileges="local"):
    """Two copies of the program with a pin-down cache, under way."""
    command = [bench.program("registration/pin_down_cache"), "soft0"]
    return [subprocess.Popen(command + [str(46001 + copy), str(cache), str(regions), str(count), privileges], env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for copy in range(2)]


def outputs_of(copies):
    """What they say in the end. One that hangs is killed."""
    told = []
    for copy in copies:
        try:
            told.append(copy.communicate(timeout=120))
        except subprocess.TimeoutExpired:
            copy.kill()
            told.append((copy.communicate()[0], "killed: it hung"))
    return told


def lease_holder(bench, environment):
    """Process id of who makes the decisions; None: nobody, or no table."""
    told = subprocess.run([os.path.join(bench.build, "dat_stat"), "--registrations", "--json"], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
    tables = json.loads(told.stdout or '{"registrations": []}')["registrations"]
    return next((process["pid"] for table in tables for process in table["processes"] if process["holds_lease"]), None)


def until(condition, seconds=20.0):
    """@return how long it took, None when it did not come true."""
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        if condition():
            return time.monotonic() - begin
        time.sleep(0.002)
    return None


def daemon(bench):
    """R7: dat_regd makes the decisions for two programs, and is killed in the middle."""
    claims = Claims(bench, "R7", more=True)
    file, writer = table(bench, "R7-daemon", ["round", "held_lease", "passed_on_ms", "finished"])
    passed, finished, missed = [], 0, 0
    rounds = 2 if bench.short else 5
    for number in range(rounds):
        environment = bench.tables(MODE="transparent", ENTRIES=96, GRACE=2000, LOW=0, HIGH=0, WAIT=20000, POLICY="lru")
        environment["OPENDAT_REGD_SOCKET"] = os.path.join(bench.here, "regd.%d" % number)
        regd = subprocess.Popen([os.path.join(bench.build, "dat_regd")], env=environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        copies = cache_programs(bench, environment, 64, 200, 60000)
        held = until(lambda: lease_holder(bench, environment) == regd.pid)
        regd.kill()
        regd.wait()
        after = until(lambda: lease_holder(bench, environment) not in (None, regd.pid)) if held is not None else None
        told = outputs_of(copies)
        done = sum(copy.returncode == 0 for copy in copies)
        missed += sum("brought something else" in message for _, message in told)
        finished += done
        if after is not None:
            passed.append(after * 1e3)
        writer.writerow([number, int(held is not None), "" if after is None else "%.1f" % (after * 1e3), done])
    file.close()
    claims.check(bench, "programs of which dat_regd was killed: what their transfers brought", 2 * rounds, missed)
    claims.claim("when dat_regd is killed the others make the decisions, and all programs finish",
                 finished == 2 * rounds and len(passed) == rounds,
                 "%d of %d programs finished; the lease had passed on after %.0f ms by the median, %.0f ms at most, of %d deaths"
                 % (finished, 2 * rounds, statistics.median(passed or [0]), max(passed or [0]), len(passed)))
    claims.close()


def unmodified(bench):
    """R10: two copies of a program with a pin-down cache, and fewer entries than the two caches together."""
    entries, cache, regions = 96, 64, 200
    count = 4000 if bench.short else 60000
    claims = Claims(bench, "R10")
    file, writer = table(bench, "R10", ["way", "copy", "status", "transfers", "misses", "seconds", "message"])
    outcomes = {}
    wrong = 0
    ways = [("today", "local", dict(MODE="on", POLICY="none")), ("transparent", "local", dict(MODE="transparent", WAIT=20000)),
            ("transparent, all privileges", "all", dict(MODE="transparent", WAIT=20000)),
            ("per-io, all privileges", "all", dict(MODE="per-io", WAIT=20000))]
    for way, privileges, settings in ways:
        environment = bench.tables(ENTRIES=entries, GRACE=5000, LOW=0, HIGH=0, **settings)
        begin = time.monotonic()
        copies = cache_programs(bench, environment, cache, regions, count, privileges)
        told = outputs_of(copies)
        for number, (copy, (out, message)) in enumerate(zip(copies, told)):
            numbers = re.search(r"transfers (\d+) misses (\d+)", out)
            transfers, misses = numbers.groups() if numbers else ("", "")
            writer.writerow([way, number + 1, copy.returncode, transfers, misses, "%.2f" % (time.monotonic() - begin),
                             message.strip().split("\n")[-1]])
            outcomes.setdefault(way, []).append(copy.returncode)
            wrong += "brought something else" in message
    file.close()
    done = {way: sum(status == 0 for status in statuses) for way, statuses in outcomes.items()}
    claims.check(bench, "what each transfer brought", len(ways) * 2 * count, wrong)
    claims.claim("today two programs whose caches exceed the adapter do not both finish", done["today"] < 2,
                 "%d of 2 finish, %d entries, caches of %d each" % (done["today"], entries, cache))
    claims.claim("in transparent mode both finish, unchanged", done["transparent"] == 2, "%d of 2 finish" % done["transparent"])
    most = [done["transparent, all privileges"], done["per-io, all privileges"]]
    claims.claim("so they do in the modes transparent and per-io if they register as MPIs do, with all privileges, and write from "
                 "one cached region to another", most == [2, 2], "%d and %d of 2 finish" % tuple(most))
    claims.close()


def cost(bench):
    """R11: the same loop of writes through DAT, without the broker and with it."""
    program = bench.program("dat_operations")
    claims = Claims(bench, "R11")
    file, writer = table(bench, "R11", ["mode", "instructions", "ns_median", "ns_least"])
    modes = ["off", "on", "transparent"]
    times = {mode: [] for mode in modes}
    count = 20000 if bench.short else 200000

    def run(mode, wrapper, count):
        environment = bench.tables(MODE=mode, ENTRIES=64)
        # In shared pages a write takes least, so that the difference shows best.
        environment["LD_PRELOAD"] = os.path.join(bench.build, ".libs/libsoftverbs-heap.so")
        return subprocess.run(wrapper + [program, "soft0", "127.0.0.1", "write", str(count)], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)

    failures = 0
    for _ in range(3 if bench.short else 11):
        for mode in modes:
            result = run(mode, [], count)
            found = re.search(r"^ns ([\d.]+)", result.stdout, re.M)
            if not found:
                failures += 1
                print(result.stderr, file=sys.stderr)
            else:
                times[mode].append(float(found.group(1)))

    def instructions(mode):
        if not shutil.which("valgrind"):
            return None
        totals = []
        for some in (1000, 3000):
            result = run(mode, ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"], some)
            found = re.search(r"Collected : (\d+)", result.stderr)
            if not found:
                return None
            totals.append(int(found.group(1)))
        return (totals[1] - totals[0]) / 2000

    counted = {mode: instructions(mode) for mode in modes}
    for mode in modes:
        writer.writerow([mode, "" if counted[mode] is None else "%.1f" % counted[mode], "%.1f" % statistics.median(times[mode] or [0]),
                         "%.1f" % min(times[mode] or [0])])
    file.close()
    claims.check(bench, "runs of the loop", 3 * len(times["off"]) + failures, failures)
    more = statistics.median(times["on"] or [0]) - statistics.median(times["off"] or [0])
    least = min(times["on"] or [0]) - min(times["off"] or [0])
    told = "" if counted["on"] is None else ", %.0f instructions" % (counted["on"] - counted["off"])
    claims.claim("busy marks and statistics cost less than 20 ns for a post and its completion", min(more, least) < 20,
                 "%.1f ns more by the median, %.1f ns by the best run%s" % (more, least, told))
    claims.close()


def main():
    build, results, wanted = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    short = "short" in wanted
    wanted = [one for one in wanted if one in ALL] or ALL
    os.makedirs(results, exist_ok=True)
    bench = Bench(build, results, short)
    options = ["--short"] if short else []
    try:
        for one in wanted:
            begin = time.monotonic()
            if one == "R7":
                bench.run(bench.program("registration/registration_recovery"), *options, results)
                daemon(bench)
            elif one == "R10":
                unmodified(bench)
            elif one == "R11":
                cost(bench)
            else:
                bench.run(bench.program("registration/registration_experiments"), *options, results, one)
            plots.draw(results, one)
            print("%s: took %.0f s" % (one, time.monotonic() - begin), flush=True)
    finally:
        bench.close()
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
