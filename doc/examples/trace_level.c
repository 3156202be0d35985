/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads and changes the trace levels of the running DAT libraries as programs for uDAPL on AIX do:
 * by the functions whose addresses are the values of the IA's attributes debug_query and
 * debug_modify.
 *
 *     trace_level IA
 *     trace_level IA DAT-LEVEL DAPL-LEVEL
 *
 * DAT is libdat2, DAPL the IA's provider library. A level is a number from 0 to 10, where 1 is
 * TRC_LVL_ERROR, 3 TRC_LVL_NORMAL and 7 TRC_LVL_DETAIL; -1 leaves it as it is. The levels belong to
 * this process: dat_trace(1) changes those of another one.
 */
#include <dat2/dat_trclvl.h>

#include "example.h"

static const char* attribute_of(const DAT_IA_ATTR* attributes, const char* name) {
    const char* value = named_value(attributes->vendor_attr, attributes->num_vendor_attr, name);
    if (!value) {
        fprintf(stderr, "this adapter has no attribute %s\n", name);
        exit(1);
    }
    return value;
}

static int level_of(const char* text) {
    char* end;
    long level = strtol(text, &end, 10);
    if (end == text || *end || level < -1 || level > DAT_TRCLVL_MAX) {
        fprintf(stderr, "'%s' is not a level: 0 to %d, or -1 to leave it as it is\n", text,
                DAT_TRCLVL_MAX);
        exit(1);
    }
    return (int)level;
}

static void print_levels(DAT_IA_HANDLE ia, DAT_TRCLVL_QUERY_FUNC query) {
    int dat_level, dapl_level;
    TRY(query(ia, &dat_level, &dapl_level));
    printf("DAT level %d, DAPL level %d\n", dat_level, dapl_level);
}

int main(int argc, char** argv) {
    struct adapter adapter;
    DAT_IA_ATTR attributes;

    if (argc != 2 && argc != 4) return usage("trace_level IA [DAT-LEVEL DAPL-LEVEL]");
    open_ia(&adapter, argv[1]);
    TRY(dat_ia_query(adapter.ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    /* Where this attribute is, the other two are functions of these types, whatever its value. */
    attribute_of(&attributes, DAT_ATTR_VENDOR_EXTENSION);
    DAT_TRCLVL_QUERY_FUNC query =
        (DAT_TRCLVL_QUERY_FUNC)(uintptr_t)attribute_of(&attributes, DAT_ATTR_DEBUG_QUERY);
    DAT_TRCLVL_MODIFY_FUNC modify =
        (DAT_TRCLVL_MODIFY_FUNC)(uintptr_t)attribute_of(&attributes, DAT_ATTR_DEBUG_MODIFY);

    print_levels(adapter.ia, query);
    if (argc == 4) {
        TRY(modify(adapter.ia, level_of(argv[2]), level_of(argv[3])));
        print_levels(adapter.ia, query);
    }
    close_adapter(&adapter);
    return 0;
}
