# SPDX-License-Identifier: BSD-2-Clause
# The registration broker: its table and its policies. It depends on neither verbs nor the core, so
# tools link it too.
noinst_LTLIBRARIES += libregistrations.la libregistrations_base.la
registrations_sources = \
    %reldir%/table/accounting.cpp %reldir%/table/accounting.hpp \
    %reldir%/table/answers.cpp \
    %reldir%/table/broker.cpp %reldir%/broker.hpp \
    %reldir%/adapter_name.hpp \
    %reldir%/table/fault_points.cpp %reldir%/table/fault_points.def %reldir%/table/fault_points.hpp \
    %reldir%/table/lease.cpp \
    %reldir%/table/list.hpp \
    %reldir%/policy/policies.hpp \
    %reldir%/table/queue.cpp \
    %reldir%/table/reaper.cpp \
    %reldir%/table/reclaim.cpp \
    %reldir%/table/state.hpp \
    %reldir%/table/table_layout.hpp \
    %reldir%/table/table_lock.cpp %reldir%/table/table_lock.hpp \
    %reldir%/table/take.cpp \
    %reldir%/table/work.cpp
libregistrations_la_SOURCES = $(registrations_sources)
libregistrations_la_LIBADD = libregistrations_base.la
libdaplcore_la_LIBADD = libregistrations.la libcheckmodel.la

# Files without a fault point, compiled once for both; fault_points.hpp refuses to be included there.
libregistrations_base_la_CPPFLAGS = $(AM_CPPFLAGS) -DNO_FAULT_POINTS
libregistrations_base_la_LIBADD = -ldl
libregistrations_base_la_SOURCES = \
    %reldir%/table/budget.cpp \
    %reldir%/directory.cpp %reldir%/directory.hpp \
    %reldir%/table/futex.cpp %reldir%/table/futex.hpp \
    %reldir%/table/policy.cpp %reldir%/table/policy.hpp \
    %reldir%/policy/clock.cpp \
    %reldir%/policy/common.cpp \
    %reldir%/policy/lfu.cpp \
    %reldir%/policy/lru.cpp \
    %reldir%/policy/none.cpp \
    %reldir%/policy/random.cpp \
    %reldir%/policy/static_quota.cpp \
    %reldir%/policy/weighted_fair_lru.cpp \
    %reldir%/table/policy_calls.cpp \
    %reldir%/table/process_identity.cpp %reldir%/table/process_identity.hpp \
    %reldir%/regd/link.cpp %reldir%/regd/link.hpp \
    %reldir%/regd/message.cpp %reldir%/regd/message.hpp \
    %reldir%/regd/watch.cpp %reldir%/regd/watch.hpp \
    %reldir%/table/repair.cpp %reldir%/table/repair.hpp \
    %reldir%/table/share.cpp %reldir%/table/share.hpp \
    %reldir%/table/status.cpp \
    %reldir%/table/table.cpp %reldir%/table/table.hpp \
    %reldir%/table/table_file.cpp %reldir%/table/table_file.hpp \
    %reldir%/table/upcalls.cpp \
    %reldir%/table/statistics.cpp

# The sources with fault points, for tests that end a process at one of them.
check_LTLIBRARIES += libregistrations_faulty.la
libregistrations_faulty_la_SOURCES = $(registrations_sources)
libregistrations_faulty_la_LIBADD = libregistrations_base.la
libregistrations_faulty_la_CPPFLAGS = $(AM_CPPFLAGS) -DREGISTRATION_FAULT_POINTS

# The broker's client side, which is part of the core.
libdaplcore_la_SOURCES += \
    %reldir%/client.cpp %reldir%/client.hpp \
    %reldir%/absence.cpp \
    %reldir%/brackets.cpp %reldir%/brackets.hpp \
    %reldir%/completion.cpp \
    %reldir%/consumer_answers.cpp \
    %reldir%/entry.hpp \
    %reldir%/entry_lmr.cpp \
    %reldir%/entry_post.cpp \
    %reldir%/entry_registration.cpp \
    %reldir%/entry_table.cpp \
    %reldir%/mode.cpp %reldir%/mode.hpp \
    %reldir%/registration.cpp %reldir%/registration.hpp \
    %reldir%/registrations.cpp %reldir%/registrations.hpp \
    %reldir%/revocation.cpp \
    %reldir%/use_records.cpp %reldir%/use_records.hpp \
    %reldir%/uses.hpp
