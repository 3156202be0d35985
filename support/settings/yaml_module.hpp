// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The YAML reader: a shared object of our own that is loaded while a file is read.
#pragma once

#include <string>

#include "support/yaml/reader.hpp"

namespace support {

/// Sets the reader of programs that are linked with one (tools, tests) and so need no module.
void use_yaml_reader(YamlReader reader);

/// Names the file of the module, for a program that knows better than configure where it is: that
/// one is tried first. @param path kept as long as the process lives.
void use_yaml_module(const char* path);

class YamlModule {
  public:
    YamlModule();
    ~YamlModule();
    YamlModule(const YamlModule&) = delete;
    YamlModule& operator=(const YamlModule&) = delete;

    /// @return nullptr when there is none; why_not() has the reason.
    YamlReader reader() const { return reader_; }
    const std::string& why_not() const { return why_not_; }

  private:
    void load(const std::string& path);

    void* handle_ = nullptr;
    YamlReader reader_ = nullptr;
    std::string why_not_;
};

}  // namespace support
