// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The YAML reader: a shared object of our own, loaded for the time that a file is read.
#pragma once

#include <string>

#include "support/yaml/reader.hpp"

namespace support {

/// For programs that are linked with the reader (tools, tests): no module is looked for.
void use_yaml_reader(YamlReader reader);

class YamlModule {
  public:
    YamlModule();
    ~YamlModule();
    YamlModule(const YamlModule&) = delete;
    YamlModule& operator=(const YamlModule&) = delete;

    /// nullptr: there is none, and why_not() says why.
    YamlReader reader() const { return reader_; }
    const std::string& why_not() const { return why_not_; }

  private:
    void load(const std::string& path);

    void* handle_ = nullptr;
    YamlReader reader_ = nullptr;
    std::string why_not_;
};

}  // namespace support
