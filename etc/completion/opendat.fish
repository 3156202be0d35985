# SPDX-License-Identifier: BSD-2-Clause
# Completion of OpenDAT's tools for fish, with the answers of the script for bash.

function __opendat_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l answers (bash '@completionsdir@/opendat' $words 2>/dev/null)
    if test "$answers[1]" = files
        __fish_complete_path (commandline -ct)
    end
    printf '%s\n' $answers[2..-1]
end

for tool in dat_conf dat_doctor dat_info dat_perf dat_ping dat_regd dat_stat dat_strerror dat_trace dtest dtest_ext dtestx softverbs
    complete -c $tool -f -a '(__opendat_complete)'
end
