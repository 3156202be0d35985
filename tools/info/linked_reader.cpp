// SPDX-License-Identifier: BSD-2-Clause
// The program has the reader of YAML files in itself, where libraries load it. Before the registry
// is made, which reads the files: that is a constructor without a priority.
#include "support/settings/yaml_module.hpp"

namespace {

[[gnu::constructor(200)]] void use_linked_reader() {
    support::use_yaml_reader(&opendat_yaml_read_1);
}

}  // namespace
