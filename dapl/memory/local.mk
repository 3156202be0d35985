# SPDX-License-Identifier: BSD-2-Clause
# The registration broker: its table, its policies. Knows neither verbs nor the core, so that tools link it too.
noinst_LTLIBRARIES += libregistrations.la
registrations_sources = \
    %reldir%/accounting.cpp %reldir%/accounting.hpp \
    %reldir%/answers.cpp \
    %reldir%/broker.cpp %reldir%/broker.hpp \
    %reldir%/budget.cpp \
    %reldir%/directory.cpp %reldir%/directory.hpp \
    %reldir%/fault_points.cpp %reldir%/fault_points.def %reldir%/fault_points.hpp \
    %reldir%/futex.cpp %reldir%/futex.hpp \
    %reldir%/lease.cpp \
    %reldir%/list.hpp \
    %reldir%/policy.cpp %reldir%/policy.hpp \
    %reldir%/policy/clock.cpp \
    %reldir%/policy/common.cpp \
    %reldir%/policy/lfu.cpp \
    %reldir%/policy/lru.cpp \
    %reldir%/policy/none.cpp \
    %reldir%/policy/policies.hpp \
    %reldir%/policy/random.cpp \
    %reldir%/policy/static_quota.cpp \
    %reldir%/policy/weighted_fair_lru.cpp \
    %reldir%/policy_calls.cpp \
    %reldir%/process_identity.cpp %reldir%/process_identity.hpp \
    %reldir%/queue.cpp \
    %reldir%/reaper.cpp \
    %reldir%/reclaim.cpp \
    %reldir%/regd/link.cpp %reldir%/regd/link.hpp \
    %reldir%/regd/message.cpp %reldir%/regd/message.hpp \
    %reldir%/repair.cpp %reldir%/repair.hpp \
    %reldir%/state.hpp \
    %reldir%/status.cpp \
    %reldir%/table.cpp %reldir%/table.hpp \
    %reldir%/table_file.cpp %reldir%/table_file.hpp \
    %reldir%/table_layout.hpp \
    %reldir%/table_lock.cpp %reldir%/table_lock.hpp \
    %reldir%/take.cpp \
    %reldir%/upcalls.cpp \
    %reldir%/work.cpp
libregistrations_la_SOURCES = $(registrations_sources)
libregistrations_la_LIBADD = -ldl
libdaplcore_la_LIBADD = libregistrations.la

# The same with fault points, for tests that end processes there.
check_LTLIBRARIES += libregistrations_faulty.la
libregistrations_faulty_la_SOURCES = $(registrations_sources)
libregistrations_faulty_la_LIBADD = -ldl
libregistrations_faulty_la_CPPFLAGS = $(AM_CPPFLAGS) -DREGISTRATION_FAULT_POINTS

# What a process makes of it: part of the core.
libdaplcore_la_SOURCES += \
    %reldir%/client.cpp %reldir%/client.hpp \
    %reldir%/completion.cpp %reldir%/completion.hpp \
    %reldir%/consumer_answers.cpp \
    %reldir%/entry.hpp \
    %reldir%/entry_extension.cpp \
    %reldir%/entry_lmr.cpp \
    %reldir%/entry_post.cpp \
    %reldir%/entry_registration.cpp \
    %reldir%/entry_table.cpp \
    %reldir%/mode.cpp %reldir%/mode.hpp \
    %reldir%/registration.hpp \
    %reldir%/registrations.cpp %reldir%/registrations.hpp \
    %reldir%/revocation.cpp \
    %reldir%/side_uses.hpp \
    %reldir%/use_records.cpp %reldir%/use_records.hpp \
    %reldir%/uses.hpp
