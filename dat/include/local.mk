# SPDX-License-Identifier: BSD-2-Clause
# The public headers: names, values and layout are fixed from outside; test/unit/abi.tsv checks them.
dat2includedir = $(includedir)/dat2
dat2include_HEADERS = \
    %reldir%/dat2/dat.h %reldir%/dat2/dat_error.h %reldir%/dat2/dat_extensions.h \
    %reldir%/dat2/dat_ib_extensions.h %reldir%/dat2/dat_opendat.h \
    %reldir%/dat2/dat_platform_specific.h %reldir%/dat2/dat_redirection.h %reldir%/dat2/dat_registry.h \
    %reldir%/dat2/dat_reg_extensions.h %reldir%/dat2/dat_reg_policy.h \
    %reldir%/dat2/dat_trclvl.h %reldir%/dat2/dat_vendor_specific.h %reldir%/dat2/udat.h %reldir%/dat2/udat_config.h \
    %reldir%/dat2/udat_redirection.h %reldir%/dat2/udat_vendor_specific.h

# The C++ layer.
dat2include_HEADERS += %reldir%/dat2/dat.hpp
dat2cppincludedir = $(includedir)/dat2/dat
dat2cppinclude_HEADERS = \
    %reldir%/dat2/dat/connection.hpp %reldir%/dat2/dat/ep.hpp %reldir%/dat2/dat/evd.hpp \
    %reldir%/dat2/dat/evd_view.hpp %reldir%/dat2/dat/ia.hpp %reldir%/dat2/dat/memory.hpp \
    %reldir%/dat2/dat/owner.hpp %reldir%/dat2/dat/result.hpp

# The path of other platforms' headers.
datincludedir = $(includedir)/dat
datinclude_HEADERS = \
    %reldir%/dat/dat.h %reldir%/dat/dat_error.h %reldir%/dat/dat_extensions.h \
    %reldir%/dat/dat_ib_extensions.h %reldir%/dat/dat_opendat.h \
    %reldir%/dat/dat_platform_specific.h %reldir%/dat/dat_redirection.h %reldir%/dat/dat_registry.h \
    %reldir%/dat/dat_reg_extensions.h %reldir%/dat/dat_reg_policy.h \
    %reldir%/dat/dat_trclvl.h %reldir%/dat/dat_vendor_specific.h %reldir%/dat/udat.h %reldir%/dat/udat_config.h \
    %reldir%/dat/udat_redirection.h %reldir%/dat/udat_vendor_specific.h %reldir%/dat/dat.hpp

# The interface of DAT 1.2 over that of DAT 2.0, for programs compiled with the flags of dat-1.2.pc.
dat12includedir = $(includedir)/dat-1.2/dat
dat12include_HEADERS = \
    %reldir%/dat-1.2/dat/dat.h %reldir%/dat-1.2/dat/dat_error.h %reldir%/dat-1.2/dat/dat_platform_specific.h \
    %reldir%/dat-1.2/dat/dat_redirection.h %reldir%/dat-1.2/dat/dat_registry.h \
    %reldir%/dat-1.2/dat/dat_vendor_specific.h %reldir%/dat-1.2/dat/udat.h %reldir%/dat-1.2/dat/udat_config.h \
    %reldir%/dat-1.2/dat/udat_redirection.h %reldir%/dat-1.2/dat/udat_vendor_specific.h
