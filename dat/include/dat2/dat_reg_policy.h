/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * Policies of the registration broker: who has to give an entry back when the table is full. A
 * policy is a table of functions; a shared object that exports dat_reg_policy() adds one, and
 * OPENDAT_REGISTRATION_POLICY names it. See dat_registration(7).
 *
 * The functions are called by one thread at a time, in the process that holds the reaper's lease,
 * with the table locked: they must not block, call DAT or keep a pointer that they are given.
 * admit() and choose() must not call malloc() or free() either: those of a program with a
 * registration cache call DAT. open() and close() may.
 *
 * @source OpenDAT; dat_registration(7).
 */
#ifndef _DAT_REG_POLICY_H_
#define _DAT_REG_POLICY_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DAT_REG_POLICY_VERSION 1

/** The adapter's table as a whole. */
typedef struct dat_reg_policy_table {
    uint64_t now;              /**< ns, CLOCK_MONOTONIC, of which last_use is one too */
    uint64_t capacity_entries; /**< registrations that the adapter has for all processes */
    uint64_t capacity_bytes;   /**< 0: no limit */
    uint64_t used_entries;
    uint64_t used_bytes;
    uint64_t shares; /**< sum of the shares of all processes that are there */
    uint64_t grace;  /**< ns: the grace period T */
} DAT_REG_POLICY_TABLE;

/** A process. */
typedef struct dat_reg_policy_process {
    uint32_t process; /**< its number in the table */
    uint32_t share;   /**< its weight against the others', 1 or more */
    uint64_t used_entries;
    uint64_t used_bytes;
    uint64_t waiting_entries; /**< requests that wait */
    uint64_t waiting_bytes;
} DAT_REG_POLICY_PROCESS;

/**
 * A registration that may be taken back: active, not in a hurry, and not pinned, refused or a posted
 * messaging buffer, unless its owner keeps more of these than its share.
 */
typedef struct dat_reg_policy_slot {
    uint32_t slot;            /**< its number in the table */
    uint32_t process;         /**< number of its owner */
    uint64_t length;          /**< bytes */
    uint64_t last_use;        /**< ns; when it was made, where nothing is told of its use */
    uint64_t use_count;       /**< 0 where nothing is told of its use */
    uint32_t busy;            /**< uses that have begun and not ended */
    uint32_t has_statistics;  /**< last_use and use_count tell of its use */
    uint32_t reference;       /**< a word that the policy may write; 0 at first */
} DAT_REG_POLICY_SLOT;

typedef struct dat_reg_policy {
    uint32_t version; /**< DAT_REG_POLICY_VERSION */
    const char *name; /**< as users write it */

    /**
     * Makes the policy's own state. May be NULL.
     * @return what the other functions are given as their first argument.
     */
    void *(*open)(void);
    /** Ends it. May be NULL. */
    void (*close)(void *state);

    /**
     * Whether a process may have one more registration. Asked with room and without.
     * @param bytes of the registration.
     * @return 0: no, the process is told that resources are insufficient, and does not wait.
     *     NULL stands for a function that always says yes.
     */
    int (*admit)(void *state, const DAT_REG_POLICY_TABLE *table,
                 const DAT_REG_POLICY_PROCESS *process, uint64_t bytes);

    /**
     * Chooses what is taken back. NULL: nothing ever is.
     *
     * @param beneficiary number of the process that waits; UINT32_MAX: the reaper works ahead.
     * @param processes, process_count in the order of their numbers.
     * @param slots, slot_count candidates, in no order.
     * @param entries, bytes how much is needed.
     * @param victims out: places in slots[], the first one first; room for slot_count.
     * @return how many it has written. Fewer than needed is allowed.
     */
    uint32_t (*choose)(void *state, const DAT_REG_POLICY_TABLE *table, uint32_t beneficiary,
                       const DAT_REG_POLICY_PROCESS *processes, uint32_t process_count,
                       DAT_REG_POLICY_SLOT *slots, uint32_t slot_count, uint64_t entries,
                       uint64_t bytes, uint32_t *victims);
} DAT_REG_POLICY;

/**
 * Gives the registration broker a policy. A shared object with a policy exports a function of this
 * name; libraries of OpenDAT have none.
 *
 * Threads: The broker calls it, in one thread at a time, when it loads the shared object.
 *
 * @return The policy, one structure, which has to stay as it is while the object is loaded; NULL
 *     for none, which the broker reports.
 */
const DAT_REG_POLICY *dat_reg_policy(void);

#ifdef __cplusplus
}
#endif

#endif
