/* SPDX-License-Identifier: BSD-2-Clause */
/* Preloaded between a program and its libdat2: changes one field in each event of the extension,
 * the one that CHANGED_EVENTS names. A program that checks its events must notice. */
#define _GNU_SOURCE
#include <dat2/dat_ib_extensions.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef DAT_RETURN (*Wait)(DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT_EVENT*, DAT_COUNT*);

static void change(DAT_EVENT* event, const char* what) {
    DAT_IB_EXTENSION_EVENT_DATA* extension = (void*)event->event_extension_data;
    DAT_DTO_COMPLETION_EVENT_DATA* done = &event->event_data.dto_completion_event_data;
    if (strcmp(what, "number") == 0) extension->val.immed.data ^= 1;
    if (strcmp(what, "type") == 0) extension->type ^= 1;
    if (strcmp(what, "operation") == 0) done->operation ^= 1;
    if (strcmp(what, "length") == 0) done->transfered_length += 1;
    if (strcmp(what, "cookie") == 0) done->user_cookie.as_64 += 1;
    if (strcmp(what, "status") == 0) done->status = DAT_DTO_ERR_TRANSPORT;
    if (strcmp(what, "endpoint") == 0) done->ep_handle = DAT_HANDLE_NULL;
    if (strcmp(what, "event") == 0) event->event_number = DAT_DTO_COMPLETION_EVENT;
}

__attribute__((visibility("default"))) DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd,
                                                               DAT_TIMEOUT timeout,
                                                               DAT_COUNT threshold,
                                                               DAT_EVENT* event, DAT_COUNT* more) {
    static Wait next;
    const char* what = getenv("CHANGED_EVENTS");
    DAT_RETURN code;
    if (!next) next = (Wait)dlsym(RTLD_NEXT, "dat_evd_wait");
    code = next(evd, timeout, threshold, event, more);
    if (code == DAT_SUCCESS && what && event->event_number == (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)
        change(event, what);
    return code;
}
