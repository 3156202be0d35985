/* SPDX-License-Identifier: BSD-2-Clause */
/* usage: open_ia NAME [BYTES] - opens an adapter instance, registers BYTES of memory, and prints
 * the code of each of the two calls. */
#include <dat2/udat.h>
#include <stdio.h>
#include <stdlib.h>

static void register_memory(DAT_IA_HANDLE ia, size_t bytes) {
    DAT_PZ_HANDLE zone = DAT_HANDLE_NULL;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_REGION_DESCRIPTION region;
    region.for_va = calloc(1, bytes);
    if (!region.for_va || dat_pz_create(ia, &zone) != DAT_SUCCESS) return;
    printf("lmr_create: 0x%08x\n",
           dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, bytes, zone, DAT_MEM_PRIV_ALL_FLAG,
                          DAT_VA_TYPE_VA, &lmr, NULL, NULL, NULL, NULL));
    if (lmr) dat_lmr_free(lmr);
    dat_pz_free(zone);
    free(region.for_va);
}

int main(int count, char** arguments) {
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    if (count < 2) return 2;
    const DAT_RETURN code = dat_ia_open(arguments[1], 8, &async, &ia);
    printf("ia_open: 0x%08x\n", code);
    if (code != DAT_SUCCESS) return 0;
    if (count > 2) register_memory(ia, strtoul(arguments[2], NULL, 0));
    return dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS ? 0 : 1;
}
