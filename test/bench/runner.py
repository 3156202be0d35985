# SPDX-License-Identifier: BSD-2-Clause
"""How test/bench/compare and compare_kernel run programs and note what they print."""
import itertools
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

LIMIT = 60  # seconds that any program may take
MEGA = 2**20 / 1e6  # for programs whose megabytes are 2^20 bytes


class Failed(Exception):
    pass


class Runner:
    def __init__(self, build, output, short):
        self.build = build
        self.output = open(output, "a", encoding="ascii")
        self.runs = 1
        self.short = short
        self.directory = tempfile.mkdtemp(prefix="bench.")
        allowed = sorted(os.sched_getaffinity(0))
        self.cpus = (allowed[0], allowed[min(1, len(allowed) - 1)])
        self.ports = itertools.count(21000 + os.getpid() % 10000)
        self.failures = 0
        self.system = {name: path for name, path in re.findall(
            r"(\S+) \(.*?=> (\S+)", self.text(["/sbin/ldconfig", "-p"]))}

    # -- results ---------------------------------------------------------------------------------
    def record(self, key, value):
        self.output.write(f"{key} {value}\n")
        self.output.flush()

    def missing(self, keys, reason):
        for key in keys:
            self.record(key, "missing " + " ".join(str(reason).split())[:160])

    def fail(self, keys, ours, failure):
        """A peer may be missing; ours must not fail."""
        if ours:
            self.failures += 1
            print(f"bench: {keys[0]}: {failure}", file=sys.stderr)
        self.missing(keys, failure)

    def attempt(self, keys, ours, measure):
        """Runs `measure` as often as a median needs."""
        try:
            for _ in range(self.runs):
                measure()
        except Failed as failure:
            self.fail(keys, ours, failure)

    # -- programs --------------------------------------------------------------------------------
    def environment(self, extra):
        return {**os.environ, **extra}

    @staticmethod
    def text(command, **options):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True, **options).stdout
        except FileNotFoundError as error:
            raise Failed(f"{command[0]} is not installed") from error
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{command[0]} did not end within {LIMIT} s") from error
        except subprocess.CalledProcessError as error:
            raise Failed(f"{os.path.basename(command[0])}: {error.stderr.strip()[-300:] or error.returncode}") from error

    def run_floors(self, milliseconds, *which):
        """What test/bench/floors prints, by words, between the two processors of the ends."""
        output = self.text([self.build + "/test/bench/floors", *map(str, self.cpus), milliseconds, *which])
        return [line.split() for line in output.splitlines()]

    def pair(self, server, client, port, extra):
        """A server, and a client once somebody listens on the port. Returns what the client printed."""
        for program in (server[0], client[0]):
            if not shutil.which(program):
                raise Failed(f"{program} is not installed")
        environment = self.environment(extra)
        with subprocess.Popen(["taskset", "-c", str(self.cpus[1]), *server], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                self.await_port(process, port)
                return self.text(["taskset", "-c", str(self.cpus[0]), *client], env=environment)
            finally:
                self.end(process)

    @staticmethod
    def end(process):
        """A server ends with its client; one whose client failed may not."""
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()

    @staticmethod
    def await_port(process, port):
        wanted = f":{port:04X}"
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            for table in ("/proc/net/tcp", "/proc/net/tcp6"):
                for line in open(table, encoding="ascii"):
                    fields = line.split()
                    if fields[1].endswith(wanted) and fields[3] == "0A":
                        return
            if process.poll() is not None:
                raise Failed("the server has ended early")
            time.sleep(0.01)
        raise Failed("the server does not listen")

    def free_port(self):
        for port in self.ports:
            with socket.socket() as probe:
                try:
                    probe.bind(("", port))
                    return port
                except OSError:
                    continue
