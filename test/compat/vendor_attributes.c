/* SPDX-License-Identifier: BSD-2-Clause */
/* usage: vendor_attributes NAME - opens an adapter instance, finds the functions of
 * dat2/dat_trclvl.h among its attributes, and prints what they return. Uses only what the libdat2
 * of every uDAPL 2.0 has. */
#include <dat2/dat_trclvl.h>
#include <stdio.h>
#include <string.h>

static const char* value_of(const DAT_NAMED_ATTR* list, DAT_COUNT count, const char* name) {
    for (DAT_COUNT i = 0; i < count; ++i)
        if (strcmp(list[i].name, name) == 0) return list[i].value;
    return NULL;
}

static void show_levels(DAT_IA_HANDLE ia, DAT_TRCLVL_QUERY_FUNC query) {
    int dat = -2, dapl = -2;
    const DAT_RETURN code = query(ia, &dat, &dapl);
    printf("query: 0x%08x %d %d\n", code, dat, dapl);
}

int main(int count, char** arguments) {
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_IA_ATTR attributes;
    DAT_TRCLVL_QUERY_FUNC query;
    DAT_TRCLVL_MODIFY_FUNC modify;
    if (count < 2 || dat_ia_open(arguments[1], 8, &async, &ia) != DAT_SUCCESS) return 2;
    if (dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL) != DAT_SUCCESS) return 2;
    query = (DAT_TRCLVL_QUERY_FUNC)value_of(attributes.vendor_attr, attributes.num_vendor_attr,
                                            DAT_ATTR_DEBUG_QUERY);
    modify = (DAT_TRCLVL_MODIFY_FUNC)value_of(attributes.vendor_attr, attributes.num_vendor_attr,
                                              DAT_ATTR_DEBUG_MODIFY);
    if (!query || !modify) return 2;
    show_levels(ia, query);
    printf("modify: 0x%08x\n", modify(ia, -1, 4));
    printf("modify both: 0x%08x\n", modify(ia, 2, 6));
    show_levels(ia, query);
    return dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS ? 0 : 1;
}
