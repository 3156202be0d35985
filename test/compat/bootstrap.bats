# SPDX-License-Identifier: BSD-2-Clause
# Tests the newcomer's first command with stand-ins for the package manager and for make: what it
# asks of them.

setup() {
    tree=$BATS_TEST_TMPDIR/tree
    tools=$BATS_TEST_TMPDIR/tools
    mkdir -p "$tree" "$tools"
    cp "$TOP_SRCDIR/bootstrap" "$tree"
    touch "$tree/configure.ac"
    stand_in configure "$tree" 'echo configured >>../asked; touch Makefile config.status'
    stand_in make "$tools" 'echo "make $*" >>../asked'
    local tool
    for tool in sh dirname sed nproc id mkdir touch find cat; do ln -s "$(command -v "$tool")" "$tools"; done
}

# bats does not see a failed `! command` in the middle of a test.
never() {
    ! "$@"
}

stand_in() { # NAME DIRECTORY SCRIPT
    printf '#!/bin/sh\n%s\n' "$3" >"$2/$1"
    chmod +x "$2/$1"
}

@test "bootstrap on a machine without apt lists what is needed and goes on" {
    PATH=$tools run "$tree/bootstrap"
    echo "$output"
    [ "$status" = 0 ]
    [[ $output == *"no apt here"*libibverbs-dev*librdmacm-dev* ]]
    grep -q configured "$tree/asked"
}

@test "bootstrap installs the packages that are missing, says which, and asks nothing" {
    stand_in dpkg-query "$tools" 'case $* in *libspdlog-dev*) ;; *) echo install ok installed ;; esac'
    stand_in apt-get "$tools" "echo \"apt-get \$*\" >>'$tree/asked'"
    stand_in env "$tools" 'while [ "${1#*=}" != "$1" ]; do shift; done; exec "$@"'
    stand_in grep "$tools" "exec $(command -v grep) \"\$@\""
    stand_in sudo "$tools" '[ "$1" = -v ] || exec "$@"'
    PATH=$tools run "$tree/bootstrap" </dev/null
    echo "$output"
    cat "$tree/asked"
    [ "$status" = 0 ]
    [[ $output == *"installing libspdlog-dev"* ]]
    grep -q 'apt-get install -y .*libspdlog-dev' "$tree/asked"
    never grep -q 'apt-get install.*libibverbs-dev' "$tree/asked"
}

@test "bootstrap without root and sudo names the packages to ask for, and installs none" {
    stand_in dpkg-query "$tools" 'case $* in *libspdlog-dev*) ;; *) echo install ok installed ;; esac'
    stand_in apt-get "$tools" "echo \"apt-get \$*\" >>'$tree/asked'"
    rm "$tools/id"
    stand_in id "$tools" 'echo 1000'
    stand_in grep "$tools" "exec $(command -v grep) \"\$@\""
    PATH=$tools run "$tree/bootstrap" </dev/null
    echo "$output"
    [ "$status" = 1 ]
    [[ $output == *"Ask an administrator to run:"*"apt-get install --no-install-recommends libspdlog-dev"*"--no-packages"* ]]
    [ ! -e "$tree/asked" ]
    # The same holds where sudo refuses.
    stand_in sudo "$tools" 'exit 1'
    PATH=$tools run "$tree/bootstrap" </dev/null
    [ "$status" = 1 ]
    [[ $output == *"apt-get install --no-install-recommends libspdlog-dev"* ]]
    [ ! -e "$tree/asked" ]
}

@test "bootstrap says how long the first build takes" {
    PATH=$tools run "$tree/bootstrap" --no-packages
    [[ $output == *"the first build takes about "*" minutes with "*" processors"* ]]
}

@test "bootstrap run again configures nothing and only makes" {
    PATH=$tools "$tree/bootstrap" --no-packages
    rm "$tree/asked"
    PATH=$tools run "$tree/bootstrap" --no-packages
    [ "$status" = 0 ]
    never grep -q configured "$tree/asked"
    grep -q make "$tree/asked"
}

@test "bootstrap refuses a word that it does not know" {
    run "$TOP_SRCDIR/bootstrap" chekc
    [ "$status" = 2 ]
    [[ $output == *"./bootstrap check"* ]]
}
