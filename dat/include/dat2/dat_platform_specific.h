/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * The types that DAT takes from the platform (Linux with glibc or musl).
 */
#ifndef _DAT_PLATFORM_SPECIFIC_H_
#define _DAT_PLATFORM_SPECIFIC_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h> /* programs written for DAT rely on it coming from here */
#include <sys/socket.h>
#include <sys/types.h>

/** Alignment of buffers, in bytes, at which transfers are fastest. */
#ifndef DAT_OPTIMAL_ALIGNMENT
#define DAT_OPTIMAL_ALIGNMENT 256
#endif

typedef uint32_t DAT_UINT32;
typedef uint64_t DAT_UINT64;
typedef unsigned long long DAT_UVERYLONG;
typedef void* DAT_PVOID;
typedef int DAT_COUNT;
typedef DAT_UINT64 DAT_PADDR;

#ifndef UINT64_C
#define UINT64_C(c) c##ULL
#endif

/** An IA handle is a small integer in the guise of a pointer; these convert it. */
#define DAT_IA_HANDLE_TO_UL(a) ((unsigned long)(a))
#define DAT_UL_TO_IA_HANDLE(a) ((DAT_IA_HANDLE)(a))

/** Socket kind of a common service point, as the arguments of socket(2). */
typedef struct dat_comm {
    int domain;
    int type;
    int protocol;
} DAT_COMM;

/** A file descriptor. */
typedef int DAT_FD;

/**
 * Addresses are ordinary socket addresses; the caller owns their memory, which must be large enough
 * for the family it names. DAT_SOCK_ADDR6 is complete after <netinet/in.h>.
 */
typedef struct sockaddr DAT_SOCK_ADDR;
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;
#define DAT_AF_INET AF_INET
#define DAT_AF_INET6 AF_INET6

/** Calling convention and linkage of API functions: the platform's own. */
#define DAT_API
#define DAT_EXPORT extern

/** Words that annotate parameters in programs written for DAT. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

#endif
