// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A directory of one user alone, in which processes of that user keep their sockets. It may lie
/// where everybody writes (/tmp, /dev/shm): who it belongs to is checked before it is used.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "support/base/unique_fd.hpp"

struct sockaddr_un;

namespace support {

class PrivateDirectory {
  public:
    /// Why one is not used.
    struct Fault {
        int error;        ///< an errno value; EACCES where it is refused
        bool refused;     ///< it is there, but somebody else may have prepared it
        std::string why;  ///< for messages
    };
    template <class T>
    using Result = tl::expected<T, Fault>;

    enum class Purpose { kFabric, kStatus };
    /// @return /dev/shm/PREFIX-USER, where there is no /dev/shm /tmp/PREFIX-USER; PREFIX is
    /// "softverbs" or "opendat". Where another user has made that, the first of PREFIX-USER-2 to -4
    /// that is the user's, else that is nobody's: all processes of the user find the same one. A
    /// user whose own it is is told so, once.
    static std::string default_path(Purpose purpose, uid_t user);
    /// Makes it with mode 0700 where it is missing. It is refused when it is a link or no
    /// directory, belongs to somebody else, or others may enter it.
    static Result<PrivateDirectory> open(const std::string& path);
    /// The same, but makes nothing: ENOENT where there is none.
    /// @param owner whose it has to be.
    static Result<PrivateDirectory> open_existing(const std::string& path, uid_t owner);

    int fd() const { return fd_.get(); }
    const std::string& path() const { return path_; }
    /// Where a socket with this name is, for bind() and connect(). @return 0 or an errno value.
    int address(const std::string& name, sockaddr_un& address, unsigned& length) const;
    void remove(const std::string& name) const;
    /// Names of all entries, in no order.
    std::vector<std::string> entries() const;

  private:
    PrivateDirectory(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

    UniqueFd fd_;
    std::string path_;
};

}  // namespace support
