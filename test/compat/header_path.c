/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * One program for both header paths and both languages: compiled with -DUDAT='<dat/udat.h>' or
 * '<dat2/udat.h>', or with -DBOTH to include each header by both paths. Registers memory on soft0
 * and sends itself an event.
 */
#ifdef BOTH
#include <dat/dat_ib_extensions.h>
#include <dat/dat_opendat.h>
#include <dat/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_opendat.h>
#include <dat2/udat.h>
#else
#include UDAT
#endif
#include <stdio.h>
#include <string.h>

static int failed(DAT_RETURN code, const char* what) {
    if (code != DAT_SUCCESS) printf("%s: 0x%08x\n", what, (unsigned)code);
    return code != DAT_SUCCESS;
}

static int send_event(DAT_IA_HANDLE ia) {
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_EVENT event;
    DAT_COUNT more = 0;
    memset(&event, 0, sizeof event);
    event.event_number = DAT_SOFTWARE_EVENT;
    event.event_data.software_event_data.pointer = &more;
    if (failed(dat_evd_create(ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd),
               "dat_evd_create") ||
        failed(dat_evd_post_se(evd, &event), "dat_evd_post_se") ||
        failed(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), "dat_evd_wait"))
        return 1;
    return event.event_data.software_event_data.pointer != &more;
}

static int register_memory(DAT_IA_HANDLE ia) {
    static char memory[64];
    DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_LMR_TRIPLET piece;
    DAT_VLEN length = 0;
    DAT_REGION_DESCRIPTION region;
    region.for_va = memory;
    if (failed(dat_pz_create(ia, &pz), "dat_pz_create") ||
        failed(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, pz,
                              DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &piece.lmr_context, NULL,
                              &length, NULL),
               "dat_lmr_create") ||
        failed(dat_lmr_free(lmr), "dat_lmr_free"))
        return 1;
    return length != sizeof memory;
}

int main(void) {
    char name[] = "soft0";
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    if (failed(dat_ia_open(name, 4, &async, &ia), "dat_ia_open") || register_memory(ia) ||
        send_event(ia) || failed(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close"))
        return 1;
    puts("works");
    return 0;
}
