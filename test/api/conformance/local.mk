# SPDX-License-Identifier: BSD-2-Clause
# Runs each statement about each function on our libraries and on the reference's. The program is
# not itself a test, so it is not in check_PROGRAMS, all of which are run as such.
EXTRA_PROGRAMS += test/api/conformance/conformance
check_DATA += test/api/conformance/conformance
test_api_conformance_conformance_SOURCES = \
    %reldir%/main.cpp %reldir%/rig.hpp %reldir%/rig.cpp test/support/event_names.hpp %reldir%/row.hpp %reldir%/states.hpp %reldir%/states.cpp \
    %reldir%/rows_strerror.cpp %reldir%/rows_registry.cpp %reldir%/rows_ia.cpp %reldir%/rows_handles.cpp \
    %reldir%/rows_context.cpp %reldir%/rows_ep_create.cpp %reldir%/rows_ep_query.cpp %reldir%/rows_ep_modify.cpp \
    %reldir%/rows_ep_connect.cpp %reldir%/rows_ep_end.cpp %reldir%/rows_ep_states.cpp %reldir%/rows_cr.cpp \
    %reldir%/rows_post.cpp %reldir%/rows_transfer.cpp %reldir%/rows_service_points.cpp \
    %reldir%/rows_evd.cpp %reldir%/rows_evd_wait.cpp %reldir%/rows_cno.cpp %reldir%/rows_memory.cpp \
    %reldir%/rows_rmr.cpp %reldir%/rows_srq.cpp %reldir%/rows_extension.cpp %reldir%/rows_proposal.cpp %reldir%/rows_ia_attributes.cpp
test_api_conformance_conformance_LDADD = libdat2.la -ldl

TESTS += %reldir%/answers
EXTRA_DIST += %reldir%/answers %reldir%/not_covered
