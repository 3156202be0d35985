# SPDX-License-Identifier: BSD-2-Clause
include doc/examples/local.mk
include doc/guides/local.mk
include doc/man/local.mk
include doc/schema/local.mk
