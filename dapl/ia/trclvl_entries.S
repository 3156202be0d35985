/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions whose addresses are the values of the attributes debug_query and debug_modify.
 * Programs print all attributes with %s, so the first instruction changes nothing that matters and
 * is, read as a text, one printable character: its second byte is zero.
 *
 * No landing pad (endbr64, bti) can come first then. This file says so by the absence of the IBT
 * and BTI properties, and a linker takes them from a library that has a part without them.
 */
#if defined(__x86_64__)
#define FIRST_INSTRUCTION .byte 0x3c, 0 /* cmp $0, %al: "<"; flags mean nothing at a call */
#define JUMP jmp
#elif defined(__aarch64__)
#define FIRST_INSTRUCTION .byte 0x30, 0, 0x80, 0xd2 /* movz x16, #1: "0"; x16 is for such jumps */
#define JUMP b
#endif

#ifdef FIRST_INSTRUCTION
.macro entry name, function
    .globl \name
    .hidden \name
    .type \name, %function
    .p2align 4
\name:
    FIRST_INSTRUCTION
    JUMP \function
    .size \name, . - \name
    .hidden \function
.endm

    .text
    entry opendat_trclvl_query_entry, opendat_trclvl_query
    entry opendat_trclvl_modify_entry, opendat_trclvl_modify
#endif

#ifdef __x86_64__
/* Shadow stacks are no matter to a jump: GNU_PROPERTY_X86_FEATURE_1_AND with SHSTK alone. */
    .section .note.gnu.property, "a", %note
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000002, 4, 2, 0
#endif

    .section .note.GNU-stack, "", %progbits
