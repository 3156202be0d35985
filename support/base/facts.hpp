// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Lets a library report the choices it would make, one fact at a time, to a listener. An interface
/// between libraries of different releases, like thread_errors.hpp: neither side owns anything of
/// the other.
#pragma once

#include <string>

namespace support {

/// The meaning of a fact for programs, from good to bad.
enum class Standing : int { kWorks, kDegraded, kFails };

/// The texts are valid during FactSink::take().
struct Fact {
    const char* subject;  ///< a word or two with underscores: device, gid_entry
    const char* value;
    const char* source;  ///< default, environment NAME, ia_params, a file, or who was asked
    Standing standing;
    const char* note;  ///< the reason, and the next step when it does not work; "" for none
};

struct FactSink {
    void (*take)(void* listener, const Fact& fact);
    void* listener;
};

/// The reporting side. Throws std::bad_alloc.
class Facts {
  public:
    /// @param ia_name the IA that the facts are about; must outlive this object.
    explicit Facts(const FactSink& sink, const char* ia_name = "")
        : sink_(sink), ia_name_(ia_name) {}
    const char* ia_name() const { return ia_name_; }

    void add(const char* subject, const std::string& value, const std::string& source,
             Standing standing = Standing::kWorks, const std::string& note = {}) const {
        sink_.take(sink_.listener,
                   {subject, value.c_str(), source.c_str(), standing, note.c_str()});
    }
    void note(const char* subject, const std::string& value, const std::string& source,
              const std::string& note) const {
        add(subject, value, source, Standing::kWorks, note);
    }

  private:
    FactSink sink_;
    const char* ia_name_;
};

}  // namespace support
