# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Completion of OpenDAT's tools for bash. The scripts for zsh and fish run this file as a program
# and use its answers. What a tool accepts is read from its --help, so that nothing is stated twice:
# the lines that begin with an option, the name of its argument, the words it can be ("one of A, B",
# "some of A, B"), and the commands of the tools that have some.

# usage: _opendat_help TOOL [COMMAND] - prints `OPTION ARGUMENT WORDS` lines. ARGUMENT is - for a
# flag, and has a [ in front if it can only follow a `=`; WORDS are separated by commas.
_opendat_help() {
    "$@" --help 2>/dev/null | awk '
        # A long line of options has its description on the next line.
        function put(   i) { for (i = 1; i <= count; ++i) print names[i], argument, words; count = 0 }
        { description = $0 }
        /^ +-/ {
            put()
            count = 0; argument = "-"; words = ""
            line = $0
            sub(/^ +/, "", line)
            while (match(line, /^-[A-Za-z0-9-]+/)) {
                names[++count] = substr(line, RSTART, RLENGTH)
                line = substr(line, RLENGTH + 1)
                sub(/^, */, "", line)
            }
            if (match(line, /^[= ][A-Z][A-Z|-]*/)) argument = substr(line, 2, RLENGTH - 1)
            if (match(line, /^\[=[A-Z][A-Z|-]*/)) argument = "[" substr(line, 3, RLENGTH - 2)
            description = line
        }
        count && match(description, /(one|some) of [a-z][a-z0-9-]*(, [a-z][a-z0-9-]*)+/) {
            words = substr(description, RSTART, RLENGTH)
            many = words ~ /^some/ ? "+" : ""
            sub(/^[a-z]+ of /, "", words)
            gsub(/, /, ",", words)
            words = many words
        }
        END { put() }'
}

# The commands of a tool are the first words of the lines below its heading.
_opendat_commands() {
    "$1" --help 2>/dev/null | sed -nE '/^([Ss]ubcommands|commands)/,/^$/s/^  ([a-z][a-z-]*) .*/\1/p'
}

# The processes of this user that have loaded one of our libraries.
_opendat_processes() {
    local maps
    for maps in /proc/[0-9]*/maps; do
        [[ -O $maps ]] && grep -qsE 'libdat2\.so|libdapl[a-z]+\.so' "$maps" && maps=${maps#/proc/} && echo "${maps%/maps}"
    done
}

# usage: _opendat_values TOOL ARGUMENT CURRENT - prints the values that an argument of that name can
# have, except file names.
_opendat_values() {
    case $2 in
        IA | NAME) compgen -W "$(dat_conf list 2>/dev/null | cut -d ' ' -f 1)" -- "$3" ;;
        HOST*) compgen -A hostname -- "$3" ;;
        PROGRAM | COMMAND) compgen -c -- "$3" ;;
        *PID*)
            # dat_stat lists the processes that answer.
            if [[ $1 = *dat_stat ]]; then
                compgen -W "$("$1" 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$3"
            else
                compgen -W "$(_opendat_processes)" -- "$3"
            fi
            ;;
    esac
}

# usage: _opendat_words WORDS CURRENT - prints the completions among WORDS, which are as
# _opendat_help prints them; a leading + marks an argument that is a list with commas.
_opendat_words() {
    local list=${1#+} before='' word
    [[ $1 != +* || $2 != *,* ]] || before=${2%,*},
    for word in ${list//,/ }; do [[ ,$before == *,"$word",* ]] || compgen -W "$before$word" -- "$2"; done
}

# usage: _opendat_operand TOOL COMMAND - prints the name of its operands, the words that are not
# options.
_opendat_operand() {
    "$@" --help 2>/dev/null | sed -nE '/^Positionals:/,/^$/s/^  [a-z-]+ ([A-Z|-]+).*/\1/p; s/^usage: softverbs (run|explore) .*(PROGRAM|COMMAND).*/\2/p' | head -n 1
}

# Whether a word before the current one is the program of `softverbs run` or the command of
# `softverbs explore`, so that the words after it are its arguments.
_opendat_in_program() {
    local i
    [[ ${COMP_WORDS[0]} = *softverbs ]] || return 1
    if [[ ${COMP_WORDS[1]-} = explore ]]; then
        for ((i = 2; i < COMP_CWORD - 1; ++i)); do [[ ${COMP_WORDS[i]} != -- ]] || return 0; done
    fi
    [[ ${COMP_WORDS[1]-} = run ]] || return 1
    for ((i = 2; i < COMP_CWORD; ++i)); do
        case ${COMP_WORDS[i]} in
            --fabric | --cm | --devices | --ports | --link | --faults | --seed | --fault-log | --time-scale) [[ ${COMP_WORDS[i + 1]-} != '=' ]] || ((++i)); ((++i)) ;;
            --check) [[ ${COMP_WORDS[i + 1]-} != '=' ]] || ((i += 2)) ;;
            -*) ;;
            *) return 0 ;;
        esac
    done
    return 1
}

_opendat() {
    local tool=$1 current=$2 previous=$3 joined=${option-} command='' argument='' words='' commands='' help
    opendat_kind=words COMPREPLY=()
    if _opendat_in_program; then
        argument=FILE
    else
        # bash passes `--option=value` as three words.
        if [[ $current = '=' ]]; then
            current='' joined='='
        elif [[ $previous = '=' ]]; then
            previous=${COMP_WORDS[COMP_CWORD - 2]} joined='='
        fi
        [[ $COMP_CWORD -lt 2 || ${COMP_WORDS[1]} != [a-z]* ]] || command=$(_opendat_commands "$tool" | grep -xF -- "${COMP_WORDS[1]}")
        help=$(_opendat_help "$tool" ${command:+"$command"})
        if [[ $current = -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$(cut -d ' ' -f 1 <<<"$help")" -- "$current" | sort -u)
            return
        fi
        read -r _ argument words < <(awk -v option="$previous" '$1 == option { print; exit }' <<<"$help")
        [[ $argument != '['* || -n $joined ]] || argument=''
        argument=${argument#'['}
        if [[ -z $argument || $argument = - ]]; then
            argument=$(_opendat_operand "$tool" ${command:+"$command"}) words=''
            [[ -n $command ]] || commands=$(_opendat_commands "$tool")
        fi
    fi
    mapfile -t COMPREPLY < <({
        _opendat_words "$words" "$current"
        compgen -W "$commands" -- "$current"
        _opendat_values "$tool" "$argument" "$current"
    } | sort -u)
    [[ $argument = *FILE* || $argument = DIR* ]] || return 0
    opendat_kind=files
    # zsh and fish complete file names themselves.
    [[ ${BASH_SOURCE[0]} != "$0" ]] || return 0
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(if [[ $argument = DIR* ]]; then compgen -d -- "$current"; else compgen -f -- "$current"; fi)
}

# As a program: `bash FILE TOOL WORD...` prints what the last word may become, one per line. The
# first line is `files` if the shell is to complete file names too, else `words`.
if [[ ${BASH_SOURCE[0]} = "$0" ]]; then
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) option=''
    if [[ ${COMP_WORDS[COMP_CWORD]} = --*=* ]]; then
        option=${COMP_WORDS[COMP_CWORD]%%=*}
        COMP_WORDS=("${COMP_WORDS[@]:0:COMP_CWORD}" "$option" "${COMP_WORDS[COMP_CWORD]#*=}")
        COMP_CWORD=$((COMP_CWORD + 1)) option+='='
    fi
    _opendat "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    echo "$opendat_kind"
    [[ ${#COMPREPLY[@]} = 0 ]] || printf "%s\n" "${COMPREPLY[@]/#/$option}"
else
    complete -F _opendat dat_conf dat_doctor dat_info dat_perf dat_ping dat_regd dat_stat dat_strerror dat_trace dtest dtest_ext dtestx softverbs
fi
