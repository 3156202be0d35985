# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For scripts inside the machine that run test programs of test/api: chooses the adapter instance
# that these use.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# By default an address that nobody has is asked for during 60 s, which is as long as a test waits.
export DAPL_CM_ARP_RETRY_COUNT=1

# usage: name_device cma|scm|ucm DEVICE [ADDRESS] - chooses our provider on a device of the machine, or
# on another address of its interface. Writes $work/dat.conf with one adapter instance, and names
# both to the programs that follow.
name_device() {
    local interface parameters library=libdaplofa.so.2
    case $2 in
        rxe0) interface=veth0 DAT_TEST_ADDRESS=10.77.0.1 ;;
        siw0) interface=veth1 DAT_TEST_ADDRESS=10.77.0.2 ;;
        *) echo "Bail out! no such device: $2"; exit 1 ;;
    esac
    parameters="${3:-$interface} 0"
    DAT_TEST_ADDRESS=${3:-$DAT_TEST_ADDRESS}
    if [ "$1" = scm ]; then
        library=libdaploscm.so.2 parameters="$2 1"
        export DAPL_SCM_NETDEV=$interface
    fi
    [ "$1" != ucm ] || library=libdaploucm.so.2 parameters="$2 1"
    DAT_TEST_IA=$1-$2
    DAT_OVERRIDE=$work/dat.conf
    LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs
    printf '%s u2.0 nonthreadsafe default %s dapl.2.0 "%s" ""\n' "$DAT_TEST_IA" "$library" "$parameters" >"$DAT_OVERRIDE"
    export DAT_TEST_IA DAT_TEST_ADDRESS DAT_OVERRIDE LD_LIBRARY_PATH
}
