# SPDX-License-Identifier: BSD-2-Clause
# Linked into each of our libraries, which hide its symbols.
noinst_LTLIBRARIES += libsupport.la
# The directories of the files of opendat.yaml(5) and of the module that reads them.
libsupport_la_CPPFLAGS = $(AM_CPPFLAGS) -DOPENDAT_SYSTEM_DIRECTORY='"$(sysconfdir)"' -DOPENDAT_MODULE_DIRECTORY='"$(pkglibdir)"'
libsupport_la_LIBADD = -ldl
libsupport_la_SOURCES = \
    %reldir%/base/edit_distance.hpp \
    %reldir%/base/facts.hpp \
    %reldir%/base/forced_unwind.hpp \
    %reldir%/base/guard.hpp \
    %reldir%/base/json_writer.cpp %reldir%/base/json_writer.hpp \
    %reldir%/base/limits.cpp %reldir%/base/limits.hpp \
    %reldir%/base/made_node.hpp \
    %reldir%/base/object_id.cpp %reldir%/base/object_id.hpp %reldir%/base/proposed_operation.hpp \
    %reldir%/base/page_allocator.cpp %reldir%/base/page_allocator.hpp \
    %reldir%/base/private_directory.cpp %reldir%/base/private_directory.hpp \
    %reldir%/base/processor.hpp \
    %reldir%/base/report.hpp \
    %reldir%/base/result.hpp \
    %reldir%/base/text_file.cpp %reldir%/base/text_file.hpp \
    %reldir%/base/unique_fd.hpp \
    %reldir%/log/captured_messages.hpp \
    %reldir%/base/completion_statuses.def \
    %reldir%/base/dat_codes.def \
    %reldir%/log/log.cpp %reldir%/log/log.hpp \
    %reldir%/log/log_sinks.cpp %reldir%/log/log_sinks.hpp \
    %reldir%/base/messages.def %reldir%/base/messages.hpp \
    %reldir%/base/reject_reasons.def \
    %reldir%/base/sidr_statuses.def \
    %reldir%/settings/api_profile.cpp %reldir%/settings/api_profile.hpp \
    %reldir%/settings/configuration.cpp %reldir%/settings/configuration.hpp \
    %reldir%/settings/configuration_files.cpp %reldir%/settings/configuration_files.hpp \
    %reldir%/settings/environment.cpp %reldir%/settings/environment.hpp \
    %reldir%/settings/setting_sources.cpp %reldir%/settings/setting_sources.hpp \
    %reldir%/settings/setting_values.cpp %reldir%/settings/setting_values.hpp \
    %reldir%/settings/settings.cpp %reldir%/settings/settings.def %reldir%/settings/settings.hpp \
    %reldir%/settings/yaml_module.cpp %reldir%/settings/yaml_module.hpp \
    %reldir%/settings/yaml_tree.cpp %reldir%/settings/yaml_tree.hpp \
    %reldir%/thread/mutex.hpp \
    %reldir%/thread/poll_patience.hpp \
    %reldir%/thread/poller.hpp \
    %reldir%/thread/start_thread.hpp \
    %reldir%/thread/thread_errors.hpp \
    %reldir%/trace/probes.hpp \
    %reldir%/trace/status_socket.cpp %reldir%/trace/status_socket.hpp \
    %reldir%/trace/trace_calls.def \
    %reldir%/log/trace_dump.cpp %reldir%/log/trace_dump.hpp \
    %reldir%/trace/trace_level.cpp %reldir%/trace/trace_level.hpp \
    %reldir%/trace/trace_line.hpp \
    %reldir%/trace/trace_points.cpp %reldir%/trace/trace_points.hpp \
    %reldir%/trace/trace_ring.cpp %reldir%/trace/trace_ring.hpp \
    %reldir%/trace/trace_slots.hpp \
    %reldir%/trace/trace_text.cpp %reldir%/trace/trace_text.hpp
