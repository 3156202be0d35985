#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""RDMA writes between two containers that share a fabric's directory and nothing else, beside the same in one container.

usage: containers.py BUILD_DIRECTORY    prints KEY VALUE once for each

A container has its own user, process, network, IPC and mount name spaces. The memory is that of the shared heap. The two ends tell each other
their queue pairs by pipes; all else goes through the fabric.
"""
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # the sources may be read-only
from runner import LIMIT, Failed, Runner  # noqa: E402

CONTAINER = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--ipc", "--net", "--mount", "--kill-child"]
MEBIBYTE = 1 << 20
IN_ONE = '"$@" responder "$RESPONDER_IN" "$RESPONDER_OUT" & "$@" requester "$REQUESTER_IN" "$REQUESTER_OUT" && wait $!'


def are_permitted():
    return bool(shutil.which("unshare")) and subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode == 0


class Ends:
    """The pipes between requester and responder."""
    def __init__(self):
        to_responder, to_requester = os.pipe(), os.pipe()
        self.pipes = {"requester": (to_requester[0], to_responder[1]), "responder": (to_responder[0], to_requester[1])}

    def descriptors(self, role):
        return [descriptor for name, ends in self.pipes.items() if role in (name, "both") for descriptor in ends]

    def close(self, role):
        for descriptor in self.descriptors(role):
            os.close(descriptor)

    def variables(self):
        return {f"{role.upper()}_{way}": str(descriptor) for role, ends in self.pipes.items() for way, descriptor in zip(("IN", "OUT"), ends)}


def start(command, environment, descriptors):
    return subprocess.Popen([*CONTAINER, *command], env=environment, pass_fds=descriptors, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def result_of(processes):
    """What the first process prints, once all have ended."""
    try:
        outputs = [process.communicate(timeout=LIMIT) for process in processes]
    except subprocess.TimeoutExpired as error:
        raise Failed(f"verbs_perf in a container did not end within {LIMIT} s") from error
    finally:
        for process in processes:
            process.kill()
    for process, (_, complaint) in zip(processes, outputs):
        if process.returncode != 0 or complaint:  # the device complains if its service thread has to copy
            raise Failed(f"verbs_perf in a container: {complaint.strip()[-300:] or process.returncode}")
    return float(outputs[0][0])


def run_in_one(command, environment):
    ends = Ends()
    process = start(["sh", "-c", IN_ONE, "sh", *command], {**environment, **ends.variables()}, ends.descriptors("both"))
    ends.close("both")
    return result_of([process])


def run_in_two(command, environment):
    ends = Ends()
    processes = []
    for role in ("requester", "responder"):
        processes.append(start([*command, role, *map(str, ends.pipes[role])], environment, ends.descriptors(role)))
    ends.close("both")
    return result_of(processes)


def write(bench, key, run, work, size, count):
    def measure():
        if not are_permitted():
            raise Failed("containers are not permitted here")
        command = [bench.build + "/test/bench/verbs_perf", "soft0", "0", work, "write", str(size), count, *map(str, bench.cpus)]
        return [run(command, bench.environment(bench.verbs))]
    return [key], measure, are_permitted()


def groups(bench):
    """{name: members}, as test/bench/compare has them."""
    few, many = ("1000", "20000") if bench.short else ("5000", "200000")
    return {
        "container_latency": [write(bench, "container_latency.heap", run_in_two, "latency", 8, many),
                              write(bench, "container_latency.one", run_in_one, "latency", 8, many)],
        "container_bandwidth": [write(bench, "container_bandwidth_1M.heap", run_in_two, "bandwidth", MEBIBYTE, few),
                                bench.floors({f"memcpy_{MEBIBYTE}": "container_bandwidth_1M.memcpy"}, "memcpy")]}


class Alone(Runner):
    """Measures the containers and nothing else."""
    def __init__(self, build):
        super().__init__(build, os.devnull, short=True)
        os.mkdir(self.directory + "/fabric", 0o700)
        self.verbs = {"LD_PRELOAD": f"{build}/.libs/libsoftverbs-heap.so:{build}/.libs/libsoftverbs.so"}

    def environment(self, extra):
        return super().environment({"SOFTVERBS_FABRIC": self.directory + "/fabric", **extra})

    def floors(self, names, *which):
        def measure():
            found = dict(self.run_floors("20", *which))
            return [float(found[name]) for name in names]
        return list(names.values()), measure, True

    def run(self):
        try:
            for keys, measure, _ in (member for members in groups(self).values() for member in members):
                for key, value in zip(keys, measure()):
                    print(key, value)
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        Alone(os.path.abspath(sys.argv[1])).run()
    except Failed as failure:
        sys.exit(f"containers.py: {failure}")
