/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file
 * DAT 2.0 for C++20: owners that free what they hold, spans, results in the place of codes. See
 * dat_hpp(7).
 *
 * Every function is inline and becomes the C call of the like name; what that says of arguments,
 * codes, events and threads (<dat2/udat.h>, <dat2/dat.h>) holds here. Nothing is allocated, nothing
 * copied, nothing thrown but by result::value(). Handles of owners fit every C call, and the other
 * way round, so both can be mixed. Only calls of DAT 2.0 are used: any libdat2 will do.
 *
 * Owners (ia, pz, evd, cno, ep, lmr, rmr, srq, psp, rsp, csp, cr) can be moved, not copied. One
 * that was moved from is empty: it holds DAT_HANDLE_NULL, and calls on it answer
 * DAT_INVALID_HANDLE. The destructor frees, and cannot tell that it failed: free() can. An object
 * has to go before what it was made with, which members and variables do by themselves when they
 * are declared in the order in which they are made. What could not be freed (DAT_INVALID_STATE:
 * something still uses it) goes when the IA is closed, which ends all that is left; after that no
 * owner of its objects may be used.
 *
 * Threads may call functions of one owner at once as far as those of DAT may be; to move, assign,
 * free or destroy an owner is for one thread, while no other uses it.
 */
#ifndef _DAT_HPP_
#define _DAT_HPP_

// In the place of hundreds of errors. The first compilers with C++20 give it a number in between.
#if __cplusplus <= 201703L
#error "<dat2/dat.hpp> needs C++20: compile with -std=c++20, or use the C calls of <dat2/udat.h>"
#else
#include <dat2/dat/connection.hpp>
#include <dat2/dat/ep.hpp>
#include <dat2/dat/evd.hpp>
#include <dat2/dat/ia.hpp>
#include <dat2/dat/memory.hpp>
#include <dat2/dat/result.hpp>
#endif

#endif
