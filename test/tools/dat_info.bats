#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs dat_info as a process: the IAs over soft0, and the dry run of opening one.
load ../compat/helpers

setup() {
    need_program jq
    fabric=$BATS_TEST_TMPDIR/fabric
    mkdir -m 700 "$fabric"
    export SOFTVERBS_FABRIC=$fabric LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs
    export DAT_OVERRIDE=$BATS_TEST_TMPDIR/dat.conf
    unset DAPL_GID_INDEX SOFTVERBS_ADDRESS SOFTVERBS_COPY OPENDAT_CONFIG
    write_conf
}

write_conf() {
    cat >"$DAT_OVERRIDE" <<'END'
# a comment
other u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""
ia u1.2 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""
ia u2.0 nonthreadsafe nondefault libdaplsoft.so.2 dapl.2.0 "soft0 0" ""
ia u2.0 nonthreadsafe default libmissing.so.2 dapl.2.0 "soft0 0" ""
ia u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""
ia u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "lo 0" ""
safe u2.0 threadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""
bad line
END
}

# usage: info STATUS OPTIONS... - dat_info must end with STATUS and print nothing to standard error;
# its document, checked against the schema, goes to $document.
info() {
    local wanted=$1 status=0
    shift
    document=$BATS_TEST_TMPDIR/document
    "$TOP_BUILDDIR/dat_info" --json "$@" >"$document" 2>"$BATS_TEST_TMPDIR/err" || status=$?
    [ "$status" -eq "$wanted" ] || { echo "it ended with status $status"; cat "$document" "$BATS_TEST_TMPDIR/err"; return 1; }
    [ ! -s "$BATS_TEST_TMPDIR/err" ] || { cat "$BATS_TEST_TMPDIR/err"; return 1; }
    "$TOP_SRCDIR/test/tools/check-schema" "$TOP_SRCDIR/doc/schema/dat_info.json" <"$document"
}
# usage: holds FILTER [NAME VALUE]
holds() {
    jq -e ".explanation | def fact(s): .facts[] | select(.subject == s); $1" "$document" >/dev/null ||
        { echo "the document lacks: $1"; cat "$document"; return 1; }
}

@test "dat_info --explain says which file and line an IA comes from, and why not each of the others" {
    info 0 --explain ia
    holds ".facts[] | select(.subject == \"conf_file\" and .value == \"$DAT_OVERRIDE\" and .source == \"environment DAT_OVERRIDE\" and .note == \"used\")"
    holds '[fact("record") | .note] == ["not used: it has another name",
        "not used: it is not u2.0 nonthreadsafe, which is requested", "not used: it is marked nondefault",
        "not used: its library cannot be used", "used", "not used: an earlier record is used", "not used: it has another name"]'
    holds "[fact(\"record\") | .value][4] | startswith(\"$DAT_OVERRIDE:6: ia u2.0\")"
    holds 'fact("bad_record") | .note | contains("api_version is '"'line'"'")'
    holds 'fact("passed_over") | .note | contains("libmissing.so.2: cannot open shared object file")'
}

@test "dat_info --explain names the line of opendat.yaml where an IA comes from there" {
    unset DAT_OVERRIDE
    export OPENDAT_CONFIG=$BATS_TEST_TMPDIR/opendat.yaml
    printf 'ias:\n  - ia_name: from-yaml\n    lib_path: libdaplsoft.so.2\n    ia_params: soft0 0\n' >"$OPENDAT_CONFIG"
    info 0 --explain from-yaml
    holds "[fact(\"record\") | select(.note == \"used\") | .value] | .[0] | startswith(\"$OPENDAT_CONFIG:2: from-yaml\")"
    holds "fact(\"address\") | .source == \"$OPENDAT_CONFIG:2\""
}

@test "dat_info --explain says where the loader found the library and which version it is" {
    info 0 --explain ia
    holds "fact(\"library\") | .value == \"$(realpath "$TOP_BUILDDIR/.libs/libdaplsoft.so.2")\" and .source == \"environment LD_LIBRARY_PATH\""
    holds 'fact("library_version") | .value == "2.0.0" and (.note | startswith("of OpenDAT "))'
    holds "fact(\"libdat2\") | .value == \"$(realpath "$TOP_BUILDDIR/.libs/libdat2.so.2")\""
}

@test "dat_info --explain tells device, port, GID, MTU, limits and thread safety of soft0, each with its source" {
    info 0 --explain ia
    holds 'fact("device") | .value == "soft0"'
    holds 'fact("port") | .value == "1"'
    holds 'fact("gid") | (.value | startswith("index 0: ")) and (.note | startswith("used: "))'
    holds 'fact("mtu") | .value == "4096 bytes"'
    holds "fact(\"address\") | .value == \"127.0.0.1\" and .source == \"$DAT_OVERRIDE:6\""
    holds 'fact("descriptors") | .source == "RLIMIT_NOFILE"'
    holds 'fact("locked_memory") | .value == "not needed"'
    holds 'fact("thread_safety") | .value == "thread safe"'
}

@test "dat_info --explain tells fabric directory, address and copy method of soft0, and where each was set" {
    SOFTVERBS_COPY=agent info 0 --explain ia
    holds "fact(\"fabric\") | .value == \"$fabric\" and .source == \"environment SOFTVERBS_FABRIC\""
    holds 'fact("device_address") | .value == "127.0.0.1" and .source == "default"'
    holds 'fact("copy") | .value == "agent" and .source == "environment SOFTVERBS_COPY"'
    printf 'settings:\n  SOFTVERBS_PLACEMENT: direct\n' >"$BATS_TEST_TMPDIR/opendat.yaml"
    OPENDAT_CONFIG=$BATS_TEST_TMPDIR/opendat.yaml info 0 --explain ia
    holds "fact(\"placement\") | .value == \"direct\" and .source == \"$BATS_TEST_TMPDIR/opendat.yaml:2\""
}

@test "dat_info --explain: a record for thread-safe programs serves others, and not the other way round" {
    info 0 --explain safe
    holds 'fact("record_serves") | .value == "u2.0 threadsafe"'
    info 1 --explain ia --threadsafe
    holds 'fact("message") | .value | contains("[DAT004]")'
}

@test "dat_info --explain: an IA that would fail ends with status 1 and the message and next step that a program would get" {
    info 1 --explain ai
    holds '.verdict == "fails"'
    holds 'fact("message") | .standing == "fails" and (.value | endswith("[DAT003]")) and .note == "the nearest name is ia"'
    DAT_OVERRIDE=$BATS_TEST_TMPDIR/nowhere info 1 --explain ia
    holds 'fact("conf_file") | .note == "cannot be read: No such file or directory"'
    holds 'fact("message") | .value | endswith("[DAT001]")'
    echo 'ia u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 "soft1 0" ""' >"$DAT_OVERRIDE"
    info 1 --explain ia
    holds 'fact("message") | (.value | endswith("[DAT202]")) and .source == "dat_ia_open"'
    status=0
    "$TOP_BUILDDIR/.libs/dtest" -P ia >/dev/null 2>"$BATS_TEST_TMPDIR/err" || status=$?
    grep -q '\[DAT202\]' "$BATS_TEST_TMPDIR/err"
}

@test "dat_info --explain: an IA that would work badly ends with status 3" {
    ulimit -n 128
    info 3 --explain ia
    holds '.verdict == "degraded"'
    holds 'fact("descriptors") | .standing == "degraded" and .value == "128" and (.note | contains("ulimit -n"))'
}

@test "dat_info --explain opens nothing that it does not close: the fabric is left without members" {
    info 0 --explain ia
    [ -z "$(find "$fabric" -type s)" ]
}

@test "dat_info shows all IAs with devices, limits and attributes, the named ones included" {
    sed -i '/^bad/d;/^ia/d' "$DAT_OVERRIDE"
    info 0
    jq -e '[.ias[].name] == ["other", "safe"] and (.ias[1].thread_safe) and (.devices | type == "array")' "$document"
    jq -e '.ias[0] | .error == null and .adapter.adapter_name == "soft0" and .adapter.max_eps > 0 and .adapter.ia_address == "127.0.0.1"
        and .provider.provider_name == "other" and .provider.max_private_data_size > 0
        and .provider_attributes.OPENDAT_THREAD_SAFE == "TRUE" and .transport_attributes.OPENDAT_TRANSPORT == "InfiniBand"
        and (.vendor_attributes | has("OPENDAT_VENDOR_ID"))' "$document"
    local output
    output=$("$TOP_BUILDDIR/dat_info" --verbose)
    grep -qE '^other  u2.0 nonthreadsafe' <<<"$output"
    grep -qE '^    max_eps +[1-9]' <<<"$output"
    grep -qE '^    DAT_IB_DEVICE_NAME +soft0' <<<"$output"
}

@test "dat_info shows the address of an IA of libdaploucm as LID, QPN and GID" {
    need_library libibverbs.so.1
    echo 'ucm u2.0 nonthreadsafe default libdaploucm.so.2 dapl.2.0 "soft0 1" ""' >"$DAT_OVERRIDE"
    export LD_PRELOAD=$softverbs
    "$TOP_BUILDDIR/dat_info" --verbose >"$BATS_TEST_TMPDIR/out"
    "$TOP_BUILDDIR/dat_info" --explain ucm >>"$BATS_TEST_TMPDIR/out"
    unset LD_PRELOAD
    grep -qE '^    ia_address +LID [1-9][0-9]*, QPN [1-9][0-9]*, GID fe80:[0-9a-f:]+$' "$BATS_TEST_TMPDIR/out"
    grep -qE '^    DAT_IB_PROVIDER_NAME +UCM$' "$BATS_TEST_TMPDIR/out"
    grep -qE '^connection_manager +UCM ' "$BATS_TEST_TMPDIR/out"
    grep -qE '^address +LID [1-9][0-9]*, QPN [1-9][0-9]*, GID fe80:' "$BATS_TEST_TMPDIR/out"
}

@test "dat_info shows flags and enumerations by their names" {
    local output
    output=$("$TOP_BUILDDIR/dat_info" -v 2>/dev/null) || true
    grep -qE '^    lmr_mem_types_supported +DAT_MEM_TYPE_VIRTUAL( \| DAT_MEM_TYPE_[A-Z_]+)*$' <<<"$output"
    grep -qE '^    completion_flags_supported +DAT_COMPLETION_[A-Z_]+' <<<"$output"
    for name in iov_ownership_on_return dat_qos_supported ep_creator pz_support rmr_scope_supported ha_loadbalancing; do
        grep -qE "^    $name +DAT_[A-Z_]+" <<<"$output" || { echo "$name"; grep "$name" <<<"$output"; false; }
    done
}

@test "dat_info has one line for each IA, unless it is asked for all" {
    sed -i '/^bad/d;/^ia/d' "$DAT_OVERRIDE"
    echo 'broken u2.0 nonthreadsafe default libmissing.so.2 dapl.2.0 "soft0 0" ""' >>"$DAT_OVERRIDE"
    "$TOP_BUILDDIR/dat_info" >"$BATS_TEST_TMPDIR/out" 2>/dev/null || true
    [ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -eq 8 ] || { cat "$BATS_TEST_TMPDIR/out"; false; }
    grep -qE '^other +u2.0 +soft0 +127\.0\.0\.1 +InfiniBand$' "$BATS_TEST_TMPDIR/out"
    grep -qE '^safe +u2.0 threadsafe +soft0 +127\.0\.0\.1 +InfiniBand$' "$BATS_TEST_TMPDIR/out"
    grep -qE '^broken +u2.0 +cannot be opened: .*`dat_info --explain broken` shows why$' "$BATS_TEST_TMPDIR/out"
}

@test "dat_info: an IA that cannot be opened is shown as such, with status 1 and what to ask next" {
    echo 'ia u2.0 nonthreadsafe default libmissing.so.2 dapl.2.0 "soft0 0" ""' >"$DAT_OVERRIDE"
    status=0
    "$TOP_BUILDDIR/dat_info" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
    [ "$status" -eq 1 ]
    grep -q '`dat_info --explain ia` shows why' "$BATS_TEST_TMPDIR/out"
    grep -q 'DAT005' "$BATS_TEST_TMPDIR/err"
}

@test "dat_info --settings lists every setting of the table with value, source, default, unit, help and whether set-uid programs obey it" {
    SOFTVERBS_COPY=agent DAPL_ACK_TIMER=14 info 0 --settings
    rows=$(grep -c '^SETTING(' "$TOP_SRCDIR/support/settings/settings.def")
    jq -e ".settings | length == $rows" "$document"
    jq -e '.settings[] | select(.name == "SOFTVERBS_COPY") | .value == "agent" and .source == "environment" and .default == "auto"
        and .obeyed_in_setuid' "$document"
    jq -e '.settings[] | select(.name == "DAPL_CM_ARP_TIMEOUT_MS") | .value == "4000" and .source == "default" and .unit == "ms"
        and (.help | length > 0) and .minimum == 1' "$document"
    jq -e '.settings[] | select(.name == "DAT_OVERRIDE") | .type == "path" and (.obeyed_in_setuid | not)' "$document"
    output=$(SOFTVERBS_COPY=agent "$TOP_BUILDDIR/dat_info" --settings)
    grep -qF 'SOFTVERBS_COPY = agent  [environment]' <<<"$output"
    grep -qF 'not obeyed in set-uid programs' <<<"$output"
}

@test "dat_info --settings tells what was set but is not used, and why; --ia shows the values of one IA" {
    cat >"$BATS_TEST_TMPDIR/opendat.yaml" <<'END'
settings:
  SOFTVERBS_COPY: process_vm
  DAPL_ACK_TIMER: 13
ias:
  - ia_name: ia
    settings:
      DAPL_ACK_TIMER: 15
END
    export OPENDAT_CONFIG=$BATS_TEST_TMPDIR/opendat.yaml
    SOFTVERBS_COPY=agent DAPL_GID_INDEX=many SOFTVERBS_KOPY=agent info 0 --settings
    jq -e '[.unused[].name] | sort == ["DAPL_GID_INDEX", "SOFTVERBS_COPY", "SOFTVERBS_KOPY"]' "$document"
    jq -e ".unused[] | select(.name == \"SOFTVERBS_COPY\") | .because == \"overridden\" and .where == \"$OPENDAT_CONFIG:2\"" "$document"
    info 0 --settings --ia ia
    jq -e ".settings[] | select(.name == \"DAPL_ACK_TIMER\") | .value == \"15\" and .source == \"$OPENDAT_CONFIG:7\"" "$document"
}

@test "dat_info refuses wrong usage with status 2" {
    for options in --threadsafe '--ia ia' '--explain' 'word' '--no-such'; do
        status=0
        # shellcheck disable=SC2086 # words
        "$TOP_BUILDDIR/dat_info" $options >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
        [ "$status" -eq 2 ]
        [ ! -s "$BATS_TEST_TMPDIR/out" ]
        [ -s "$BATS_TEST_TMPDIR/err" ]
    done
}
