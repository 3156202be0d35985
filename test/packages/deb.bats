#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the Debian packages: builds them, checks them with lintian, and installs them in a system of
# their own that debootstrap makes. The system and the other packages come from the archive that apt
# of this machine is set up for.
load ../compat/helpers

# Runs once for all tests of this file. The system is kept as an archive, so that another run need
# not download it.
setup_file() {
    export work=$TOP_BUILDDIR/test/packages
    export root=$work/root
    mkdir -p "$work"
    rm -rf "$root"
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u DESTDIR DEB_BUILD_OPTIONS=noautodbgsym make -C "$TOP_BUILDDIR" deb >"$work/deb.said" 2>&1 3>&- ||
        { tail -n 60 "$work/deb.said"; return 1; }
}
teardown_file() { rm -rf --one-file-system "$root"; }

setup() {
    packages=$TOP_BUILDDIR/deb
    version=$(sed -n 's/^VERSION *= *//p' "$TOP_BUILDDIR/Makefile")-1
    cd "$packages" || return
    start_network
    # A name space of its own, so that what is mounted there ends with the command.
    # shellcheck disable=SC2016 # for that shell
    in_root=(unshare --mount --propagation private sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root"
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root)
    # What helpers.bash puts in front of its dtest pairs, and the IA that they open: the one of the
    # package's dat.conf.
    # shellcheck disable=SC2034
    stack=("${in_root[@]}") adapter=soft0
}
teardown() { stop_all; }

# usage: debian_archive - prints where apt of this machine finds this release of Debian: its address
# and its name.
debian_archive() {
    # shellcheck disable=SC2016 # apt's variables
    apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null |
        awk -v name="$(. /etc/os-release && echo "$VERSION_CODENAME")" '$2 == name { print; exit }'
}

# Makes a fresh system in $root; skips the test where that is not possible.
need_system() {
    local archive
    [ "$(id -u)" -eq 0 ] || skip "a system of its own needs root"
    "${in_root[@]:0:4}" true 2>/dev/null || skip "name spaces are not permitted"
    need_program debootstrap
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    if [ ! -e "$work/minbase.tar" ]; then
        read -r -a archive < <(debian_archive) || skip "apt of this machine knows no archive of its release of Debian"
        debootstrap --variant=minbase "${archive[1]}" "$root" "${archive[0]}" >"$work/debootstrap.said" 2>&1 3>&- ||
            { tail -n 5 "$work/debootstrap.said"; skip "debootstrap makes no system: is the archive within reach?"; }
        tar -C "$root" --one-file-system -cf "$work/minbase.tar.new" .
        mv "$work/minbase.tar.new" "$work/minbase.tar"
    else
        tar -C "$root" -xf "$work/minbase.tar"
    fi
    mkdir "$root/packages"
    cp "$packages"/*"_${version}_"*.deb "$root/packages"
}

# usage: in_system COMMAND... - runs it as root there, outside the test's network, which leads
# nowhere; shows its output if it fails.
in_system() {
    "${in_root[@]}" "$@" >"$BATS_TEST_TMPDIR/said" 2>&1 </dev/null 3>&- 8>&- || { echo "$*:"; tail -n 30 "$BATS_TEST_TMPDIR/said"; return 1; }
}

# usage: install_packages NAME... - installs packages of this archive or, with a path, ours.
install_packages() {
    in_system apt-get update
    in_system apt-get install --yes --no-install-recommends "$@"
}

# usage: ours NAME... - prints the paths of our packages in the system.
ours() {
    local name
    for name in "$@"; do (cd "$root" && printf '/%s ' "packages/${name}_${version}"_*.deb); done
}

# Installs from the archive what our packages depend on.
install_dependencies() {
    # shellcheck disable=SC2046 # a list of words
    install_packages $(for package in *"_${version}_"*.deb; do dpkg-deb -f "$package" Depends; done |
        tr ',' '\n' | sed -E 's/ *\(.*//; s/ //g' | grep -v -e opendat -e softverbs | sort -u)
}

# usage: status_of PACKAGE - prints what dpkg of the system has.
status_of() {
    "${in_root[@]}" dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null
}

@test "make deb makes five packages, each of the version of the changelog" {
    for package in libdat2-opendat softverbs libdat2-opendat-dev opendat-utils opendat-doc; do
        echo "$package"
        [ "$(dpkg-deb -f "${package}_${version}"_*.deb Version)" = "$version" ]
    done
}

@test "lintian finds no error in the packages, and no warning that stands not among the overrides" {
    need_program lintian
    # lintian expects an upload to Debian's archive to close a request for it; these packages are
    # not uploaded there.
    lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs ./*"_${version}_"*.deb
}

@test "dpkg -i installs the packages in a fresh system, and dtest runs over its soft0" {
    need_system
    install_dependencies
    # shellcheck disable=SC2046 # a list of words
    in_system dpkg -i $(ours libdat2-opendat softverbs libdat2-opendat-dev opendat-utils opendat-doc)
    run_to_end info "${in_root[@]}" dat_info
    has info '^ *soft0 '
    run_to_end devices "${in_root[@]}" softverbs run sh -c 'echo "$LD_PRELOAD"'
    has devices libsoftverbs.so
    start server "${in_root[@]}" dtest -s -P soft0 -b 1000 -B 20
    run_to_end client "${in_root[@]}" dtest -P soft0 -h 127.0.0.1 -b 1000 -B 20
    await_end server
    has client 'DAPL Test Complete\. PASSED'
    is_silent server client
}

@test "a program is compiled and linked with the development package by pkg-config, and depends on ours" {
    need_system
    # shellcheck disable=SC2046 # a list of words
    install_packages $(ours libdat2-opendat softverbs libdat2-opendat-dev) gcc libc6-dev pkg-config dpkg-dev
    sed -n '/^```c$/,/^```$/p' "$TOP_SRCDIR/README.md" | grep -v '^```' >"$root/hello.c"
    in_system sh -c 'cc -o hello hello.c $(pkg-config --cflags --libs dat2) && ./hello'
    grep -qx 'hello through RDMA' "$BATS_TEST_TMPDIR/said"
    mkdir "$root/debian"
    printf 'Source: hello\n\nPackage: hello\nArchitecture: any\n' >"$root/debian/control"
    in_system dpkg-shlibdeps -O hello
    grep -q 'libdat2-opendat (>= 0.1.0)' "$BATS_TEST_TMPDIR/said"
}

@test "Debian's own dapl2-utils is installed on our libraries, and its dtest passes on them" {
    need_program dtest
    need_system
    # shellcheck disable=SC2046 # a list of words
    install_packages $(ours libdat2-opendat)
    in_system apt-get install --yes --no-install-recommends dapl2-utils
    [ "$(status_of dapl2-utils)" = installed ]
    [ "$(status_of libdapl2)" != installed ]
    in_system dpkg --verify dapl2-utils libdat2-opendat
    dtest_passes -b 4096
    dtest_passes -b 4096 -W -D
}

@test "libdapl2, libdapl-dev and dapl2-utils give way to our packages, and these to them" {
    need_system
    install_packages libdapl2 libdapl-dev dapl2-utils
    # shellcheck disable=SC2046 # a list of words
    install_packages $(ours libdat2-opendat softverbs libdat2-opendat-dev opendat-utils)
    for package in libdapl2 libdapl-dev dapl2-utils; do
        [[ $(status_of "$package") != installed ]] || { echo "$package is still there"; false; }
    done
    cmp "$TOP_SRCDIR/etc/dat.conf" "$root/etc/dat.conf"
    in_system apt-get install --yes --no-install-recommends libdapl2
    [ "$(status_of libdapl2)" = installed ]
    [ "$(status_of libdat2-opendat)" != installed ]
    # dpkg alone is not asked to remove anything, so our package keeps its place.
    in_system sh -c "apt-get download libdapl2 && dpkg -i $(ours libdat2-opendat)"
    never in_system sh -c 'dpkg -i libdapl2_*.deb'
    grep -q 'libdat2-opendat.* conflicts with libdapl2' "$BATS_TEST_TMPDIR/said"
    [ "$(status_of libdat2-opendat)" = installed ]
}

@test "dpkg -i goes over a removed reference, whose dat.conf is still there, and keeps one that the administrator changed" {
    need_system
    install_dependencies
    in_system apt-get install --yes --no-install-recommends libdapl2
    in_system apt-get download libdapl2
    in_system dpkg --remove libdapl2
    [ -e "$root/etc/dat.conf" ]
    # shellcheck disable=SC2046 # a list of words
    in_system dpkg -i $(ours libdat2-opendat)
    cmp "$TOP_SRCDIR/etc/dat.conf" "$root/etc/dat.conf"
    in_system dpkg --purge libdapl2
    cmp "$TOP_SRCDIR/etc/dat.conf" "$root/etc/dat.conf"
    in_system dpkg --purge libdat2-opendat
    [ ! -e "$root/etc/dat.conf" ]

    in_system sh -c 'dpkg -i libdapl2_*.deb'
    printf '\n# ours\n' >>"$root/etc/dat.conf"
    in_system dpkg --remove libdapl2
    # shellcheck disable=SC2046 # a list of words
    in_system dpkg -i --force-confold $(ours libdat2-opendat)
    [ "$(tail -n 1 "$root/etc/dat.conf")" = '# ours' ]
}

@test "purged, the packages leave nothing behind" {
    need_system
    install_dependencies
    (cd "$root" && find etc usr -not -type d | sort) >"$BATS_TEST_TMPDIR/before"
    # shellcheck disable=SC2046 # a list of words
    in_system dpkg -i $(ours libdat2-opendat softverbs libdat2-opendat-dev opendat-utils opendat-doc)
    in_system dpkg --purge libdat2-opendat softverbs libdat2-opendat-dev opendat-utils opendat-doc
    (cd "$root" && find etc usr -not -type d | sort) >"$BATS_TEST_TMPDIR/after"
    diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
}
