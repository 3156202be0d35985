// SPDX-License-Identifier: BSD-2-Clause
// Makes the program use its linked YAML reader, which libraries load as a module. Runs before the
// registry, which reads the files, is made: that is a constructor without a priority.
#include "support/settings/yaml_module.hpp"

namespace {

[[gnu::constructor(200)]] void use_linked_reader() {
    support::use_yaml_reader(&opendat_yaml_read_1);
}

}  // namespace
