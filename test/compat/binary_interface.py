# SPDX-License-Identifier: BSD-2-Clause
"""The binary interface of our libraries and headers beside the reference's, as lines for doc/compatibility.md: symbols() by nm, types() by
abidiff. What differs without a reason says DIFFERENT. compatibility, beside this file, puts them there."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCES = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LIBRARIES = ["libdat2.so.2", "libdaplofa.so.2", "libdaploscm.so.2", "libdaploucm.so.2"]
REFERENCE_HEADERS = "/usr/include"
# Why only our side has a symbol, by the symbol's node. There is no reason to lack one.
ONLY_OURS = {
    "OPENDAT_1.0": "declared by the reference's headers, and exported by none of its libraries",
    "OPENDAT_EXTENSIONS_1.0": "the first public proposal of extensions, `dat2/dat_extensions.h`",
    "OPENDAT_TRCLVL_1.0": "trace levels, as on AIX, `dat2/dat_trclvl.h`",
}
# Why a type differs. Programs made for the reference do not see any of these changes.
TYPES_DIFFER = {
    "dat_ib_dtos": "the completion of sends with immediate data has a number",
    "dat_ib_ext_type": "what a send with immediate data, and a receive without any, is called in its event",
    "dat_ib_op": "sends with immediate data, under a number of our own",
    "dat_event_data": "the event of the first public proposal is one more member of the union, whose size is as it was",
}
INCLUDES = ["netinet/in.h", "dat2/udat.h", "dat2/dat_ib_extensions.h", "dat2/dat_registry.h", "dat2/dat_redirection.h",
            "dat2/udat_redirection.h"]


def said_by(*command, ok=(0,)):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode not in ok:
        sys.exit(f"compatibility: {' '.join(command)} ended with {result.returncode}:\n{result.stdout}")
    return result.stdout


def reference(library):
    """Its path, or None. Ours may be installed as well: the reference's are those that dpkg says are libdapl2's."""
    listed = subprocess.run(["dpkg-query", "-L", "libdapl2"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return next((path for path in listed.stdout.split() if os.path.basename(path) == library), None)


def package_version(package):
    result = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, check=False)
    return result.stdout or "not installed"


def table(titles, rows):
    return ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|", *("| " + " | ".join(row) + " |" for row in rows)]


# ---- symbols --------------------------------------------------------------------------------------------------------

def exports(path):
    """Returns the node of each name."""
    lines = said_by("nm", "-D", "--defined-only", "--with-symbol-versions", path).splitlines()
    return dict(line.split()[-1].split("@@") for line in lines if "@@" in line)


def symbol_rows(build):
    for library in LIBRARIES:
        path = os.path.join(build, ".libs", library)
        ours = exports(path) if os.path.exists(path) else {}
        theirs = exports(reference(library))
        for name in sorted(ours | theirs, key=lambda name: (name not in theirs, ours.get(name, ""), name)):
            if name in ours and name in theirs:
                why = "the same" if ours[name] == theirs[name] else "DIFFERENT"
            else:
                why = ONLY_OURS.get(ours.get(name))
            yield [library, f"`{name}`", theirs.get(name, "-"), ours.get(name, "-"), why or "DIFFERENT"]


def symbols(build):
    rows = list(symbol_rows(build))
    bits = subprocess.run(["abidiff", "--no-added-syms", reference("libdat2.so.2"), os.path.join(build, ".libs/libdat2.so.2")],
                          stdout=subprocess.DEVNULL, check=False).returncode
    verdict = "nothing is removed or changed" if bits == 0 else f"DIFFERENT ({bits})"
    same = sum(row[4] == "the same" for row in rows)
    return [f"abidiff of the two `libdat2.so.2`: {verdict}. Of {len(rows)} symbols {same} are the same.", "",
            *table(["library", "symbol", "the reference", "OpenDAT", ""], rows)]


# ---- types ----------------------------------------------------------------------------------------------------------

def known_types():
    """Returns (kind, name) of what test/dat/abi.tsv has: the promise, made from the reference's headers."""
    with open(os.path.join(SOURCES, "test/dat/abi.tsv"), encoding="utf-8") as file:
        rows = [line.split("\t") for line in file]
    return [(row[0], row[1]) for row in rows if row[0] in ("struct", "union", "enum", "typedef", "prototype")]


def use_of(kind, name):
    """A variable whose type is the one of that name: with it the compiler's debug information has the type."""
    what = {"typedef": name, "prototype": f"__typeof__({name})"}.get(kind, f"{kind} {name}")
    return f"{what} *{kind}_{name};"


def library_of_types(headers, folder):
    source, made = os.path.join(folder, "types.c"), os.path.join(folder, "types.so")
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(f"#include <{header}>\n" for header in INCLUDES)
        file.writelines(use_of(kind, name) + "\n" for kind, name in known_types())
    said_by(*shlex.split(os.environ.get("CC") or "cc"), "-g", "-w", "-fPIC", "-shared", f"-I{headers}", "-o", made, source)
    return made


def compare_types():
    """Returns abidiff's verdict, and what it says of each type that is not the same."""
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for name, headers in (("reference", REFERENCE_HEADERS), ("ours", os.path.join(SOURCES, "dat/include"))):
            os.mkdir(os.path.join(folder, name))
            sides.append(library_of_types(headers, os.path.join(folder, name)))
        bits = subprocess.run(["abidiff", *sides], stdout=subprocess.DEVNULL, check=False).returncode
        leaves = said_by("abidiff", "--harmless", "--leaf-changes-only", *sides, ok=(0, 4, 8, 12))
    differences = {}
    for part in re.split(r"^(?=')", leaves, flags=re.MULTILINE)[1:]:
        heading, *lines = part.splitlines()
        differences[re.match(r"'(?:\w+ )?(\w+)", heading)[1]] = [
            found[1] for line in lines if (found := re.match(r"\s+'(?:\w+::)?([\w ]+)'", line))]
    return bits, differences


def types():
    bits, differences = compare_types()
    verdict = "no incompatible change" if bits == 0 else f"DIFFERENT ({bits})"
    lines = [f"abidiff of all types, by the debug information of both sets of headers: {verdict}."]
    for kind, what in (("struct", "structures"), ("union", "unions"), ("enum", "enumerations"), ("typedef", "type definitions"),
                       ("prototype", "prototypes")):
        same = [name for of, name in known_types() if of == kind and name not in differences]
        lines += ["", f"**{len(same)} {what}, the same:** " + ", ".join(f"`{name}`" for name in same) + "."]
    rows = [[f"`{name}`", "more: " + ", ".join(f"`{more}`" for more in added), TYPES_DIFFER.get(name, "DIFFERENT")]
            for name, added in sorted(differences.items())]
    ours, theirs = (set(os.listdir(os.path.join(where, "dat2"))) for where in (os.path.join(SOURCES, "dat/include"), REFERENCE_HEADERS))
    return lines + ["", *table(["not the same", "what differs", "why"], rows), "",
                    "Headers of both: " + ", ".join(f"`{name}`" for name in sorted(ours & theirs)) + ". Ours alone: " +
                    ", ".join(f"`{name}`" for name in sorted(ours - theirs)) + ". The reference's alone: " +
                    (", ".join(f"`{name}`" for name in sorted(theirs - ours)) or "none") + "."]


def needs():
    """Says what is not there to compare with."""
    missing = [program for program in ("abidiff", "nm", "dpkg-query") if not shutil.which(program)]
    if not missing:
        missing = [library for library in LIBRARIES if not reference(library)]
        missing += ["the reference's headers"] if package_version("libdapl-dev") == "not installed" else []
    print(", ".join(missing))
    return 1 if missing else 0
