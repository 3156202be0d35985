#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Reads the jobs and manifests of doc/examples/ci as those who run them do, and runs their scripts.
load ../compat/helpers

examples=$TOP_SRCDIR/doc/examples/ci

setup() {
    start_network
    # What is installed has softverbs in its PATH.
    mkdir "$BATS_TEST_TMPDIR/bin"
    ln -s "$TOP_BUILDDIR/softverbs" "$BATS_TEST_TMPDIR/bin/softverbs"
    export PATH=$BATS_TEST_TMPDIR/bin:$PATH
}
teardown() { stop_all; }

# usage: asks FILE EXPRESSION... - evaluates Python expressions on `all`, the documents of a file; each must hold.
asks() {
    /usr/bin/python3 - "$examples/$1" "${@:2}" <<'PYTHON'
import sys, yaml
all = list(yaml.safe_load_all(open(sys.argv[1])))
for expression in sys.argv[2:]:
    if not eval(expression):
        sys.exit(f'{sys.argv[1]}: not so: {expression}')
PYTHON
}

@test "two_processes: perftest goes through, and a failure of either process is one" {
    need_program ib_write_bw
    run_to_end good "${enter_network[@]}" "$examples/two_processes"
    has good '^ 65536 +1000 '
    run "${enter_network[@]}" "$examples/two_processes" false true
    [ "$status" -ne 0 ]
    run "${enter_network[@]}" "$examples/two_processes" 'sh -c "exit 3"' false
    [ "$status" -ne 0 ]
    [[ $output = *"the server said:"* ]]
}

@test "unpack: a package that was not installed runs" {
    need_program dpkg-deb ibv_devices
    root=$BATS_TEST_TMPDIR/package
    install -D "$TOP_BUILDDIR/.libs/libsoftverbs.so" "$root/usr/lib/libsoftverbs.so"
    install -D "$TOP_BUILDDIR/softverbs" "$root/usr/bin/softverbs"
    mkdir "$root/DEBIAN"
    printf 'Package: softverbs\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: a test\n' >"$root/DEBIAN/control"
    dpkg-deb -Znone --build "$root" "$BATS_TEST_TMPDIR/softverbs_1.deb" >/dev/null
    eval "$("$examples/unpack" "$BATS_TEST_TMPDIR/unpacked" "$BATS_TEST_TMPDIR/softverbs_1.deb")"
    [ "$(command -v softverbs)" = "$BATS_TEST_TMPDIR/unpacked/usr/bin/softverbs" ]
    run_to_end devices softverbs run --only ibv_devices
    has devices '^ +soft0 '
}

@test "the manifests are good YAML" {
    need_program yamllint
    yamllint -s -d '{extends: default, rules: {document-start: disable, line-length: {max: 120}, truthy: {check-keys: false}}}' "$examples"/*.y*ml
}

@test "the jobs install the package and run the script, and hide the runner's own devices" {
    asks github.yml 'all[0]["jobs"]["softverbs"]["runs-on"]' \
        'any("softverbs_*.deb" in step.get("run", "") for step in all[0]["jobs"]["softverbs"]["steps"])' \
        'all[0]["jobs"]["softverbs"]["steps"][-1]["run"] == "./ci/two_processes"'
    asks gitlab.yml 'all[0]["rdma"]["script"][-1] == "./ci/two_processes"'
    for command in 'softverbs run --only ibv_devices'; do
        grep -q "$command" "$examples/github.yml"
        grep -q "$command" "$examples/gitlab.yml"
        need_program ibv_devices
        run_to_end job sh -c "$command"
        has job '^ +soft0 '
    done
}

@test "the nightly job searches for faults, and keeps what it finds" {
    asks nightly.yml 'all[0]["jobs"]["explore"]["runs-on"]' \
        'all[0]["jobs"]["explore"]["steps"][-1]["with"]["path"] == "found*"'
    command=$(/usr/bin/python3 -c 'import sys, yaml; print(yaml.safe_load(open(sys.argv[1]))["jobs"]["explore"]["steps"][-2]["run"])' "$examples/nightly.yml")
    # The program is ours, and fewer seeds are enough.
    command=${command/1000/20} command=${command/.\/program/"$TOP_BUILDDIR/test/tools/fragile"}
    cd "$BATS_TEST_TMPDIR"
    start nightly sh -c "${command/--only/--only --ignore-output}"
    wait "${process_of[nightly]}" || [ $? -eq 1 ]
    unset 'process_of[nightly]'
    [ -s found.xml ]
    has nightly '^20 runs, [1-9][0-9]* failed in [1-9]'
    grep -q '^softverbs run ' found/1/command
}

@test "the containers share a fabric, and its user" {
    asks compose.yaml 'all[0]["services"]["server"]["volumes"] == all[0]["services"]["client"]["volumes"] == ["fabric:/fabric"]' \
        'len({service["user"] for service in all[0]["services"].values()}) == 1' \
        '"uid=1000" in all[0]["volumes"]["fabric"]["driver_opts"]["o"]'
    asks kubernetes.yaml '[document["kind"] for document in all] == ["Pod", "Service", "Pod"]' \
        'len({document["spec"]["volumes"][0]["hostPath"]["path"] for document in all if document["kind"] == "Pod"}) == 1' \
        'all[0]["spec"]["containers"][0]["env"] == all[2]["spec"]["containers"][0]["env"]' \
        'all[0]["spec"]["securityContext"] == all[2]["spec"]["securityContext"] == {"runAsUser": 1000, "runAsGroup": 1000}'
    grep -q '^ENV SOFTVERBS_FABRIC=/fabric$' "$examples/Containerfile"
    grep -q '^ENTRYPOINT \["softverbs", "run", "--only"\]$' "$examples/Containerfile"
}
