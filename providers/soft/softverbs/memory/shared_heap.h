/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * The functions that the verbs device calls in the shared heap of the same process. It finds them
 * by name when libsoftverbs-heap.so is loaded. Both use one page file
 * (providers/soft/softverbs/memory/page_file.hpp).
 */
#ifndef SOFTVERBS_SHARED_HEAP_H
#define SOFTVERBS_SHARED_HEAP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct softverbs_heap_calls {
    /** @return the page file's descriptor, which stays the heap's, or -1 when there is none. */
    int (*descriptor)(void);
    /** @return 1 when all pages of [begin, end) are pages of the page file at their own offset. */
    int (*covers)(uint64_t begin, uint64_t end);
    /** No region holds the pages any more: those that the application has unmapped since leave the
     *  file, as a peer may have written to them after that. */
    void (*released)(uint64_t begin, uint64_t end);
};

const struct softverbs_heap_calls* softverbs_shared_heap(void);

#ifdef __cplusplus
}
#endif
#endif
