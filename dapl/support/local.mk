# SPDX-License-Identifier: BSD-2-Clause
# Linked into every library of ours, hidden there.
noinst_LTLIBRARIES += libsupport.la
# Where the files of opendat.yaml(5) and the module that reads them are.
libsupport_la_CPPFLAGS = $(AM_CPPFLAGS) -DOPENDAT_SYSTEM_DIRECTORY='"$(sysconfdir)"' -DOPENDAT_MODULE_DIRECTORY='"$(pkglibdir)"'
libsupport_la_LIBADD = -ldl
libsupport_la_SOURCES = \
    %reldir%/api_profile.cpp %reldir%/api_profile.hpp \
    %reldir%/captured_messages.hpp \
    %reldir%/configuration.cpp %reldir%/configuration.hpp \
    %reldir%/configuration_files.cpp %reldir%/configuration_files.hpp \
    %reldir%/edit_distance.hpp \
    %reldir%/environment.cpp %reldir%/environment.hpp \
    %reldir%/facts.hpp \
    %reldir%/forced_unwind.hpp \
    %reldir%/guard.hpp \
    %reldir%/json_writer.cpp %reldir%/json_writer.hpp \
    %reldir%/log.cpp %reldir%/log.hpp \
    %reldir%/completion_statuses.def %reldir%/dat_codes.def %reldir%/reject_reasons.def \
    %reldir%/messages.def %reldir%/messages.hpp \
    %reldir%/mutex.hpp \
    %reldir%/private_directory.cpp %reldir%/private_directory.hpp \
    %reldir%/result.hpp \
    %reldir%/setting_sources.cpp %reldir%/setting_sources.hpp \
    %reldir%/setting_values.cpp %reldir%/setting_values.hpp \
    %reldir%/settings.cpp %reldir%/settings.def %reldir%/settings.hpp \
    %reldir%/status_socket.cpp %reldir%/status_socket.hpp \
    %reldir%/text_file.cpp %reldir%/text_file.hpp \
    %reldir%/thread_errors.hpp \
    %reldir%/unique_fd.hpp \
    %reldir%/probes.hpp \
    %reldir%/trace_calls.def \
    %reldir%/trace_points.cpp %reldir%/trace_points.hpp \
    %reldir%/log_sinks.cpp %reldir%/log_sinks.hpp \
    %reldir%/trace_dump.cpp %reldir%/trace_dump.hpp \
    %reldir%/trace_level.cpp %reldir%/trace_level.hpp \
    %reldir%/trace_slots.hpp \
    %reldir%/trace_text.cpp %reldir%/trace_text.hpp \
    %reldir%/trace_ring.cpp %reldir%/trace_ring.hpp \
    %reldir%/yaml_module.cpp %reldir%/yaml_module.hpp \
    %reldir%/yaml_tree.cpp %reldir%/yaml_tree.hpp
