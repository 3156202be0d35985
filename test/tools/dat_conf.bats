#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs dat_conf as a process: it checks, makes and changes dat.conf and opendat.yaml.
bats_require_minimum_version 1.5.0
load ../support/time

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
    unset DAT_OVERRIDE OPENDAT_CONFIG
    export LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs
    conf=$BATS_TEST_TMPDIR/dat.conf
    yaml=$BATS_TEST_TMPDIR/opendat.yaml
}

# usage: conf STATUS ARGUMENTS... - dat_conf must end with STATUS; its output goes to
# $BATS_TEST_TMPDIR/out and err.
conf() {
    local wanted=$1 status=0
    shift
    "$TOP_BUILDDIR/dat_conf" "$@" >out 2>err || status=$?
    [ "$status" -eq "$wanted" ] || { echo "it ended with status $status"; cat out err; return 1; }
}
# usage: document STATUS ARGUMENTS... - the same with --json, checked against the schema.
document() {
    conf "$@" --json
    "$TOP_SRCDIR/test/tools/check-schema" "$TOP_SRCDIR/doc/schema/dat_conf.json" <out
}
holds() { jq -e "$1" out >/dev/null || { cat out; return 1; }; }
says() { grep -qF -- "$1" "$2" || { cat out err; return 1; }; }
never() { if "$@"; then echo "succeeded: $*"; return 1; fi; }

write_conf() {
    cat >"$conf" <<'END'
# adapters of this machine
soft0 u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" "" # in software

# by its interface
ofa-v2-ib0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" ""
END
}
write_yaml() {
    cat >"$yaml" <<'END'
# adapters of this machine
settings:
  DAPL_ACK_RETRY: 7   # as long as it takes
ias:
  # in software
  - ia_name: soft0
    lib_path: libdaplsoft.so.2
    ia_params: soft0 0
    settings:
      DAPL_ACK_RETRY: 5

  # by its interface
  - ia_name: ofa-v2-ib0
    lib_path: libdaplofa.so.2
    ia_params: ib0 0
# the end
trace:
  level: 3
END
}

# Makes the sysfs of a machine with a RoCE device, an InfiniBand device with two ports and an iWARP
# device.
make_machine() {
    local sys=$BATS_TEST_TMPDIR/machine/sys/class/infiniband
    mkdir -p "$sys"/rxe0/ports/1 "$sys"/mlx5_0/ports/1 "$sys"/mlx5_0/ports/2 "$sys"/mlx5_0/device/net/ib0 "$sys"/siw0/ports/1
    echo eth0 >"$sys/rxe0/parent"
    echo eth1 >"$sys/siw0/parent"
    echo '1: CA' | tee "$sys/rxe0/node_type" >"$sys/mlx5_0/node_type"
    echo '4: RNIC' >"$sys/siw0/node_type"
}

@test "dat_conf check finds nothing wrong with a good dat.conf and a good opendat.yaml" {
    write_conf
    write_yaml
    make_machine
    conf 0 check "$conf" --root "$BATS_TEST_TMPDIR/machine"
    [ ! -s err ]
    conf 0 check "$yaml" --root "$BATS_TEST_TMPDIR/machine"
    [ ! -s err ]
    conf 0 check --anywhere "$conf" "$yaml"
    [ ! -s err ]
}

@test "dat_conf check finds missing libraries, names that are there twice, and records that no program can open" {
    {
        echo 'a u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""'
        echo 'b u2.0 nonthreadsafe default libnosuch.so.7 dapl.2.0 "soft0 0" ""'
        echo 'a u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 1" ""'
        echo 'c k2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""'
        echo 'd u2.0 nonthreadsafe nondefault libdaplsoft.so.2 dapl.2.0 "soft0 0" ""'
        echo 'e u3.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""'
        echo 'a u2.0 threadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""'
    } >"$conf"
    conf 1 check "$conf"
    [ "$(wc -l <err)" = 5 ] || { cat err; false; }
    says "$conf:2:1: lib_path of b is 'libnosuch.so.7', which cannot be loaded: libnosuch.so.7: cannot open shared object file" err
    says "$conf:3:1: a is also in $conf:1: this record is used only where the library of that one cannot be loaded" err
    says "$conf:4:1: no program can open c k2.0: it is for kernel programs" err
    says "$conf:5:1: no program can open d u2.0: it is marked nondefault" err
    says "$conf:6:1: no program can open e u3.0: no program asks for this API version" err
    document 1 check "$conf"
    holds '.problems | length == 5'
    conf 0 check --anywhere "$conf"
}

@test "dat_conf check finds devices that are not on this machine, and says which are" {
    make_machine
    mkdir -p machine/sys/class/net/eth9
    {
        echo 'a u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib1 0" ""'
        echo 'b u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "eth9 0" ""'
        echo 'c u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "mlx5_0 3" ""'
        echo 'd u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "10.0.0.1 0" ""'
        echo 'e u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "mlx5_0 1" ""'
        echo 'f u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "rxe0 1" ""'
        echo 'g u2.0 nonthreadsafe default libdaploucm.so.2 dapl.2.0 "rxe1 1" ""'
        echo 'h u2.0 nonthreadsafe default libdaploucm.so.2 dapl.2.0 "mlx5_0 2" ""'
    } >"$conf"
    conf 1 check "$conf" --root "$BATS_TEST_TMPDIR/machine"
    [ "$(wc -l <err)" = 4 ] || { cat err; false; }
    says "$conf:1:1: device of a is 'ib1', which is not on this machine (RDMA devices: mlx5_0 (ib0), rxe0 (eth0), siw0 (eth1))" err
    says "$conf:2:1: device of b is 'eth9', which is not an interface of an RDMA device" err
    says "$conf:3:1: device of c is 'mlx5_0', which is not on this machine" err
    says "$conf:7:1: device of g is 'rxe1', which is not on this machine" err
}

@test "dat_conf add names file and record, and asks before it writes the system's file" {
    write_conf
    conf 0 add new --file "$conf"
    says "$conf: adding new u2.0 nonthreadsafe default libdaplsoft.so.2" out
    # Without --file and DAT_OVERRIDE it is the system's file, and nobody answers the question here.
    conf 1 add new-one </dev/null
    says "This is the system's file, which all programs read. Write it? [y/N]" err
    says '--yes writes without asking' err
    says 'nothing is changed' out
    echo n | conf 1 add new-one
    says 'nothing is changed' out
    unshare -rm sh -c 'mount -t tmpfs none /etc' 2>/dev/null || skip "no name spaces here"
    # shellcheck disable=SC2016 # the inner shell's
    unshare -rm sh -c 'mount -t tmpfs none /etc && echo y | "$0" add new-one --file /etc/dat.conf && "$0" add new-two --yes --file /etc/dat.conf &&
        cat /etc/dat.conf' "$TOP_BUILDDIR/dat_conf" >out 2>err </dev/null
    says 'Write it?' err
    [ "$(grep -c '^new-' out)" = 2 ]
    [ "$(grep -c 'Write it?' err)" = 1 ]
}

@test "dat_conf remove, generate and convert ask before they write the system's file, too" {
    unshare -rm sh -c 'mount -t tmpfs none /etc' 2>/dev/null || skip "no name spaces here"
    write_conf
    cp "$conf" mine
    # shellcheck disable=SC2016 # the inner shell's
    unshare -rm sh -c 'mount -t tmpfs none /etc && cp mine /etc/dat.conf
        for command in "remove soft0 --file" "generate --output" "convert mine --output"; do
            $0 $command /etc/dat.conf && exit 1
            cmp mine /etc/dat.conf || exit 2
        done
        $0 remove soft0 --file /etc/dat.conf --yes && ! grep ^soft0 /etc/dat.conf &&
            $0 convert mine --output /etc/dat.conf --yes && $0 generate --output /etc/dat.conf --yes &&
            grep ^soft0 /etc/dat.conf' "$TOP_BUILDDIR/dat_conf" >out 2>err </dev/null
    [ "$(grep -c 'Write it?' err)" = 3 ]
    [ "$(grep -c 'nothing is changed' out)" = 3 ]
    says '/etc/dat.conf: removing soft0 u2.0 ' out
}

@test "dat_conf check tells all problems of a dat.conf with line, column and suggestion" {
    {
        echo 'a u2.0 nontreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" ""'
        echo 'b u2.0 nonthreadsafe defualt libdaplofa.so.2 dapl.2.0 "ib0 0" ""'
        echo 'c u2.0 nonthreadsafe default libdaploaf.so.2 dapl.2.0 "ib0 0" ""'
        echo 'd u2.0 nonthreadsafe default /nonexistent/lib.so dapl.2.0 "ib0 0" ""'
        for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "bad$i"; done
    } >"$conf"
    conf 1 check --anywhere "$conf"
    [ "$(wc -l <err)" = 16 ]
    says "$conf:1:8: thread_safety is 'nontreadsafe'" err
    says "did you mean nonthreadsafe?" err
    says "$conf:2:22: default is 'defualt'" err
    says "did you mean default?" err
    says "did you mean libdaplofa.so.2?" err
    says "$conf:4:1: lib_path of d is '/nonexistent/lib.so', which does not exist" err
    says "$conf:16:" err
}

@test "dat_conf check tells all problems of an opendat.yaml with line, column and nearest name" {
    printf 'settings:\n  DAPL_IB_MTUU: 1\n  DAPL_IB_SL: 99\nias:\n  - ia_name: x\n    libpath: y\ntrase: {}\n' >"$yaml"
    conf 1 check "$yaml"
    [ "$(wc -l <err)" = 4 ]
    says "$yaml:2:3: 'DAPL_IB_MTUU' is an unknown setting; did you mean DAPL_IB_MTU?" err
    says "$yaml:3:15: DAPL_IB_SL is '99'" err
    says "$yaml:6:5: 'libpath' is an unknown field of an IA; did you mean lib_path?" err
    says "$yaml:7:1: 'trase' is an unknown section; did you mean trace?" err
}

@test "dat_conf check prints documents that fit their schema" {
    write_conf
    echo 'bad' >>"$conf"
    document 1 check --anywhere "$conf"
    holds '.problems | length == 1'
    holds '.problems[0].line == 6'
    holds '.records | length == 2'
}

@test "dat_conf check without a file looks at those in use" {
    write_conf
    mkdir -p config/opendat
    echo 'nosuch: 1' >config/opendat/opendat.yaml
    DAT_OVERRIDE=$conf conf 1 check --anywhere
    says "$XDG_CONFIG_HOME/opendat/opendat.yaml:1:1" err
    says "$conf: 2 IAs, 0 problems" out
}

@test "dat_conf generate puts real devices first under the names programs expect, and soft0 last" {
    make_machine
    document 0 generate --root "$BATS_TEST_TMPDIR/machine"
    holds '[.records[].ia_name] == ["ofa-v2-ib0", "ofa-v2-eth0", "ofa-v2-eth1", "ofa-v2-mlx5_0-1", "ofa-v2-mlx5_0-2",
        "ofa-v2-rxe0-1", "ofa-v2-mlx5_0-1u", "ofa-v2-mlx5_0-2u", "ofa-v2-rxe0-1u", "soft0", "ofa-v2-lo"]'
    holds '.records[0] | .lib_path == "libdaplofa.so.2" and .ia_params == "ib0 0"'
    holds '.records[4] | .lib_path == "libdaploscm.so.2" and .ia_params == "mlx5_0 2"'
    holds '.records[7] | .lib_path == "libdaploucm.so.2" and .ia_params == "mlx5_0 2"'
}

@test "dat_conf generate offers soft0 alone where there are no devices, and it opens" {
    mkdir -m 700 fabric
    conf 0 generate --root "$BATS_TEST_TMPDIR/nothing" --output "$conf"
    [ "$(grep -c '^[^#]' "$conf")" = 2 ]
    conf 0 check "$conf"
    SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/fabric LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs DAT_OVERRIDE=$conf \
        timeout "$(scaled 120)" "$TOP_BUILDDIR/test/compat/.libs/open_ia" ofa-v2-lo | grep -q 'ia_open: 0x00000000'
}

@test "dat_conf generate writes an opendat.yaml whose IAs open too" {
    mkdir -m 700 fabric
    conf 0 generate --root "$BATS_TEST_TMPDIR/nothing" --output "$yaml"
    conf 0 check --anywhere "$yaml"
    SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/fabric LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs OPENDAT_CONFIG=$yaml \
        timeout "$(scaled 120)" "$TOP_BUILDDIR/test/compat/.libs/open_ia" soft0 | grep -q 'ia_open: 0x00000000'
}

@test "dat_conf add and remove of a dat.conf give the same bytes again, comments kept" {
    write_conf
    cp "$conf" before
    conf 0 add ofa-v2-eth7 --library libdaplofa.so.2 --params 'eth7 0' --file "$conf"
    [ "$(diff before "$conf" | grep -c '^[<>]')" = 1 ]
    conf 0 list --file "$conf"
    says 'ofa-v2-eth7' out
    conf 0 remove ofa-v2-eth7 --file "$conf"
    cmp before "$conf"
}

@test "dat_conf add and remove of an opendat.yaml give the same bytes again, comments kept" {
    write_yaml
    cp "$yaml" before
    document 0 add ofa-v2-eth7 --library libdaplofa.so.2 --params 'eth7 0' --file "$yaml"
    holds '.written | endswith("opendat.yaml")'
    conf 0 check --anywhere "$yaml"
    [ "$(diff before "$yaml" | grep -c '^>')" = 3 ]
    [ "$(diff before "$yaml" | grep -c '^<')" = 0 ]
    conf 0 remove ofa-v2-eth7 --file "$yaml"
    cmp before "$yaml"
}

@test "dat_conf remove of an entry takes its settings along and leaves the comments around it" {
    write_yaml
    conf 0 remove soft0 --file "$yaml"
    never grep -q 'DAPL_ACK_RETRY: 5' "$yaml"
    for comment in 'adapters of this machine' 'as long as it takes' 'in software' 'by its interface' 'the end'; do
        grep -q "# $comment" "$yaml" || { cat "$yaml"; return 1; }
    done
    conf 0 check --anywhere "$yaml"
}

@test "dat_conf refuses a change that it cannot make without spoiling the file" {
    printf 'ias: [{ia_name: a, lib_path: libdaplsoft.so.2}, {ia_name: b, lib_path: libdaplsoft.so.2}]\n' >"$yaml"
    cp "$yaml" before
    conf 1 remove a --file "$yaml"
    says "does not begin with '- '" err
    cmp before "$yaml"
}

@test "dat_conf remove of an unknown IA names the nearest and changes nothing" {
    write_conf
    cp "$conf" before
    conf 1 remove ofa-v2-ib1 --file "$conf"
    says 'did you mean ofa-v2-ib0?' err
    cmp before "$conf"
}

@test "dat_conf add refuses what the reader would not take, and what is there already" {
    write_conf
    cp "$conf" before
    conf 1 add x --api two --file "$conf"
    says "api_version is 'two'" err
    conf 1 add soft0 --file "$conf"
    says 'soft0 already exists' err
    cmp before "$conf"
}

@test "dat_conf convert to YAML and back gives the same records, comments kept" {
    write_conf
    conf 0 convert "$conf" --output "$yaml"
    conf 0 check --anywhere "$yaml"
    for comment in 'adapters of this machine' 'in software' 'by its interface'; do grep -q "# $comment" "$yaml"; done
    conf 0 convert "$yaml" --output back.conf
    grep '^[^#]' back.conf >back
    sed 's/ # in software//' "$conf" | grep '^[^#]' | diff - back
    for comment in 'adapters of this machine' 'in software' 'by its interface'; do grep -q "# $comment" back.conf; done
}

@test "dat_conf convert of every field that a record can have gives the same record again" {
    printf '"a\\"b" u2.1 threadsafe nondefault "li b.so" own.1.3 "x \\"y\\" \\\\" "p: # - q"\n' >"$conf"
    "$TOP_BUILDDIR/dat_conf" list --json --file "$conf" 2>err | jq '.records[0] | del(.file, .line)' >wanted
    conf 0 convert "$conf" --output "$yaml"
    "$TOP_BUILDDIR/dat_conf" list --json --file "$yaml" 2>err | jq '.records[0] | del(.file, .line)' >found
    diff wanted found
    conf 0 convert "$yaml"
    says own.1.3 out
    says 'p: # - q' out
}

write_other_ages() {
    cat >"$conf" <<'END'
# of another age
OpenIB-cma u1.2 nonthreadsafe default /usr/lib64/libdaplcma.so.1 dapl.1.2 "ib0 0" "" # its interface
OpenIB-mthca0-1 u1.2 nonthreadsafe default libdaplscm.so.1 dapl.1.2 "mthca0 1" ""
hca0 u2.0 nonthreadsafe default /usr/lib/libdapl/libdapl2.a(shr_64.o) IBM.1.1 "/dev/iba0 1 ib1" " "
ibd0 u1.2 nonthreadsafe default udapl_tavor.so.1 SUNW.1.0 "" "driver_name=tavor"
soft0 u1.2 nonthreadsafe default libdaplsoft.so.2 dapl.1.2 "soft0 0" ""
mine u1.2 nonthreadsafe default own.so own.1.2 "x 0" ""
today u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""
END
}

@test "dat_conf check names records of uDAPL 1.2, AIX and Solaris, each with what has to change" {
    write_other_ages
    document 1 check --anywhere "$conf"
    holds '[.problems[].line] == [2, 3, 4, 5, 6]'
    conf 1 check --anywhere "$conf"
    says "$conf:2:1: OpenIB-cma is a record of uDAPL 1.2: u1.2 becomes u2.0, /usr/lib64/libdaplcma.so.1 becomes libdaplofa.so.2; \`dat_conf convert" err
    says 'hca0 is a record of AIX: /usr/lib/libdapl/libdapl2.a(shr_64.o) becomes libdaplofa.so.2, "/dev/iba0 1 ib1" becomes "ib1 0"' err
    says 'ibd0 is a record of Solaris: u1.2 becomes u2.0, udapl_tavor.so.1 becomes libdaplofa.so.2, "" becomes "ibd0 0"' err
    says 'soft0 is a record of uDAPL 1.2: u1.2 becomes u2.0;' err
}

@test "dat_conf convert makes records of today of those of other ages, in dat.conf and in YAML, comments kept, and they open" {
    write_other_ages
    conf 3 convert "$conf" --output "$conf"
    diff - "$conf" <<'END'
# of another age
OpenIB-cma u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" "" # its interface
OpenIB-mthca0-1 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "mthca0 1" ""
hca0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib1 0" ""
ibd0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ibd0 0" ""
soft0 u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.1.2 "soft0 0" ""
mine u1.2 nonthreadsafe default own.so own.1.2 "x 0" ""
today u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""
END
    conf 0 check --anywhere "$conf"
    mkdir -m 700 fabric
    SOFTVERBS_FABRIC=$PWD/fabric LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs DAT_OVERRIDE=$conf \
        timeout "$(scaled 120)" "$TOP_BUILDDIR/test/compat/.libs/open_ia" soft0 | grep -q 'ia_open: 0x00000000'
    write_other_ages
    conf 3 convert "$conf" --output "$yaml"
    conf 0 check --anywhere "$yaml"
    conf 3 convert "$yaml"
    says 'hca0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib1 0" ""' out
}

# The file that AIX ships describes its format in comments. The second record is for a RoCE adapter.
write_aix() {
    cat >"$conf" <<'END'
# AIX: <ia_name> <api_version> <thread_safety> <default> <lib_path> <provider_version> <ia_params> <platform_params>
hca0 u2.0 nonthreadsafe default /usr/lib/libdapl/libdapl2.a(shr_64.o) IBM.1.1 "/dev/iba0 1 ib0" " "
hca1 u1.2 nonthreadsafe default /usr/lib/libdapl/libdapl.a(shr.o) IBM.1.1 "/dev/roce0 2 en1" " " # RoCE
END
}

@test "dat_conf convert prints the dat.conf for here of one of AIX, and reports each change" {
    write_aix
    cp "$conf" before
    conf 0 convert "$conf"
    diff - out <<'END'
# AIX: <ia_name> <api_version> <thread_safety> <default> <lib_path> <provider_version> <ia_params> <platform_params>
hca0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" ""
hca1 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "en1 0" "" # RoCE
END
    cmp "$conf" before
    [ "$(wc -l <err)" = 2 ]
    says "$conf:3:1: hca1 is a record of AIX: u1.2 becomes u2.0, /usr/lib/libdapl/libdapl.a(shr.o) becomes libdaplofa.so.2, \"/dev/roce0 2 en1\" becomes \"en1 0\"" err
    cp out converted.conf
    conf 0 check --anywhere converted.conf
    document 0 convert "$conf"
    holds '[.records[] | [.ia_name, .lib_path, .ia_params]] == [["hca0", "libdaplofa.so.2", "ib0 0"], ["hca1", "libdaplofa.so.2", "en1 0"]]'
    conf 0 convert "$conf" --yaml
    says 'lib_path: libdaplofa.so.2' out
    cp out converted.yaml
    conf 0 check --anywhere converted.yaml
}

@test "dat_conf convert prints the dat.conf for here of one of OFED with DAT 1.2" {
    cat >"$conf" <<'END'
# DAT 1.2 configuration file

OpenIB-cma u1.2 nonthreadsafe default /usr/local/ofed/lib64/libdaplcma.so mv_dapl.1.2 "ib0 0" ""
OpenIB-cma-ip u1.2 nonthreadsafe default libdaplcma.so.1 dapl.1.2 "192.168.0.22 0" ""
OpenIB-scm2 u1.2 nonthreadsafe default libdaplscm.so.1 dapl.1.2 "mthca0 2" ""
END
    conf 0 convert "$conf"
    diff - out <<'END'
# DAT 1.2 configuration file

OpenIB-cma u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" ""
OpenIB-cma-ip u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "192.168.0.22 0" ""
OpenIB-scm2 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "mthca0 2" ""
END
}

@test "dat_conf convert keeps and reports every line that it cannot convert" {
    cat >"$conf" <<'END'
hca0 u2.0 nonthreadsafe default /usr/lib/libdapl/libdapl2.a(shr_64.o) IBM.1.1 "/dev/iba0 1 ib0" " "
hca1 u2.0 nonthreadsafe default /usr/lib/libdapl/libdapl2.a(shr_64.o) IBM.1.1 "/dev/iba1 1" " "
vapi u1.1 nonthreadsafe default libdapl.so vapi.1.1 "InfiniHost0" "" # of a vendor
  kernel k1.2 nonthreadsafe default libdaplcma.so.1 dapl.1.2 "ib0 0" ""
seven u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0"
wrong u2.0 nontreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" ""
END
    conf 3 convert "$conf"
    diff <(sed 1d "$conf") <(sed 1d out)
    says 'hca0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "ib0 0" ""' out
    says "$conf:2:1: hca1 is not converted: its ia_params \"/dev/iba1 1\" name no network interface; the record stays as it is" err
    says "$conf:3:1: vapi is not converted: 'libdapl.so' is an unknown library; " err
    says "$conf:4:1: kernel is not converted: it is for kernel programs; " err
    says "$conf:5:" err
    says "$conf:6:12: thread_safety is 'nontreadsafe'" err
    document 3 convert "$conf"
    holds '[.problems[].line] | unique == [1, 2, 3, 4, 5, 6]'
    cp "$conf" before
    conf 1 convert "$conf" --yaml
    [ ! -s out ]
    conf 1 convert "$conf" --output "$yaml"
    [ ! -e "$yaml" ]
    cmp "$conf" before
}

@test "dat_conf convert makes nothing of a file that has no record, or cannot be read" {
    head -c 3000 /dev/zero >"$conf"
    conf 1 convert "$conf"
    [ ! -s out ]
    conf 1 convert missing.conf
    says 'missing.conf: it cannot be read: ' err
    write_yaml
    conf 1 convert "$yaml" --yaml
    says "$yaml: an opendat.yaml: expected a dat.conf" err
}

@test "dat_conf convert tells what has no place in dat.conf, by its exit status too" {
    write_yaml
    conf 3 convert "$yaml"
    says 'DAPL_ACK_RETRY cannot be set in dat.conf' err
    says 'ofa-v2-ib0 u2.0' out
}

@test "a replaced file keeps its mode and its owner, a link stays a link, and nothing is left beside it" {
    mkdir real
    write_conf
    mv "$conf" real/dat.conf
    ln -s real/dat.conf "$conf"
    chmod 640 real/dat.conf
    [ "$(id -u)" -ne 0 ] || chown 65534:65534 real/dat.conf
    owner=$(stat -c %u:%g real/dat.conf)
    conf 0 add new --file "$conf"
    [ -L "$conf" ]
    [ "$(stat -c %a:%u:%g real/dat.conf)" = "640:$owner" ]
    grep -q '^new ' real/dat.conf
    [ "$(ls real)" = dat.conf ]
}

@test "a file that cannot be replaced stays as it is, and nothing is left beside it" {
    [ "$(id -u)" -ne 0 ] || skip 'root may write everywhere'
    mkdir real
    write_conf
    mv "$conf" real/dat.conf
    cp real/dat.conf before
    chmod 500 real
    conf 1 add new --file real/dat.conf
    cmp before real/dat.conf
    [ "$(ls real)" = dat.conf ]
}

@test "dat_conf with wrong usage ends with status 2" {
    conf 2 nosuch
    conf 2 remove
    conf 2
}

@test "the example of opendat.yaml is right, as it is and with everything in it taken up" {
    conf 0 check --anywhere "$TOP_SRCDIR/etc/opendat.yaml"
    sed 's/^#\( .*\)/\1/' "$TOP_SRCDIR/etc/opendat.yaml" | grep -v '^ [A-Za-z/`]' >"$yaml"
    conf 0 check --anywhere "$yaml"
    conf 0 list --file "$yaml"
    says ofa-v2-ib0 out
}

@test "every section, short name and message of opendat.yaml stands in its page" {
    page=$TOP_SRCDIR/doc/man/opendat.yaml.5.scd
    for word in settings ias trace softverbs DAT903 DAT904 DAT905 \
        $(sed -nE 's/^ *\{"(trace|softverbs)", "([a-z_]+)",.*/\2/p' "$TOP_SRCDIR/support/settings/configuration.hpp"); do
        grep -q "[*_]$word[*_]" "$page" || { echo "not in the page: $word"; return 1; }
    done
}

@test "the example in the page of opendat.yaml is right" {
    sed -n '/^# EXAMPLES/,/^# FILES/p' "$TOP_SRCDIR/doc/man/opendat.yaml.5.scd" | sed '1,/^```/d; /^```/,$d' >"$yaml"
    [ -s "$yaml" ]
    conf 0 check --anywhere "$yaml"
}
