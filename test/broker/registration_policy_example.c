/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * A registration policy as users write one: the largest registration goes first, and no process
 * gets more than half of the entries.
 */
#include <dat2/dat_reg_policy.h>
#include <stddef.h>

/* Tests also build variants that are refused: POLICY_VERSION sets another version, and with
 * POLICY_NONE there is no policy. */
#ifndef POLICY_VERSION
#define POLICY_VERSION DAT_REG_POLICY_VERSION
#endif

static int admit(void* state, const DAT_REG_POLICY_TABLE* table,
                 const DAT_REG_POLICY_PROCESS* process, uint64_t bytes) {
    (void)state;
    (void)bytes;
    return process->used_entries < table->capacity_entries / 2;
}

static uint32_t choose(void* state, const DAT_REG_POLICY_TABLE* table, uint32_t beneficiary,
                       const DAT_REG_POLICY_PROCESS* processes, uint32_t process_count,
                       DAT_REG_POLICY_SLOT* slots, uint32_t slot_count, uint64_t entries,
                       uint64_t bytes, uint32_t* victims) {
    uint32_t largest = 0, i;
    (void)state;
    (void)table;
    (void)beneficiary;
    (void)processes;
    (void)process_count;
    (void)entries;
    (void)bytes;
    for (i = 1; i < slot_count; ++i)
        if (slots[i].length > slots[largest].length) largest = i;
    victims[0] = largest;
    return 1;
}

static const DAT_REG_POLICY policy = {POLICY_VERSION, "largest", NULL, NULL, admit, choose};

const DAT_REG_POLICY* dat_reg_policy(void) {
#ifdef POLICY_NONE
    return policy.version == POLICY_VERSION ? NULL : &policy;
#else
    return &policy;
#endif
}
