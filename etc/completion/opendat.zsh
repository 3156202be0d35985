#compdef dat_conf dat_doctor dat_info dat_perf dat_ping dat_regd dat_stat dat_strerror dat_trace dtest dtest_ext dtestx softverbs
# SPDX-License-Identifier: BSD-2-Clause
# Completion of OpenDAT's tools for zsh, with the answers of the script for bash.

_opendat_zsh() {
    local -a answers
    answers=("${(@f)$(bash '@completionsdir@/opendat' "${(@)words[1,CURRENT]}" 2>/dev/null)}")
    [[ $answers[1] != files ]] || _files
    shift answers
    (( $#answers )) && compadd -a answers
}

_opendat_zsh "$@"
