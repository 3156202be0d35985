/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the software verbs device offers beyond verbs: memory that other processes reach at the
 * speed of memory.
 *
 * The functions are in libsoftverbs.so, which programs usually get by `softverbs run` and not by
 * linking: declare them weak, or ask dlsym(RTLD_DEFAULT, "softverbs_memory_alloc"), and use malloc
 * where they are absent.
 */
#ifndef SOFTVERBS_H
#define SOFTVERBS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * `size` bytes of zeroed memory that begins on a page, made of pages that the processes of the
 * fabric can map. Registered with ibv_reg_mr, all of it is reached by plain copies and by the
 * processor's atomics, without a system call. It can be used like any other memory, registered or
 * not, and before a device is opened.
 *
 * A child of fork() gets a copy of its own, which takes time in proportion to what is in use. What
 * a child of a raw clone() without CLONE_VM, or one made after the library has been unloaded,
 * writes there, its parent sees.
 *
 * Returns NULL with errno EINVAL (no size), ENOMEM or EMFILE. Thread safe.
 */
void* softverbs_memory_alloc(size_t size);

/*
 * Gives it back; NULL is allowed. Memory that is still registered goes when its last region is
 * deregistered. What was not allocated by softverbs_memory_alloc is left alone. Thread safe.
 */
void softverbs_memory_free(void* memory);

#ifdef __cplusplus
}
#endif

#endif
