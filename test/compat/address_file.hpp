// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The server's address for programs that are one end of a conversation. It is an IPv4 address on
/// the command line, unless DAT_TEST_ADDRESS_FILE names a file: libdaploucm has no name service, so
/// the server leaves its IA address there, for the client to read.
#pragma once

#include <arpa/inet.h>
#include <dat2/udat.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace test {

inline const char* address_file() {
    return std::getenv("DAT_TEST_ADDRESS_FILE");
}

/// Leaves the IA's address in the file, if there is to be one. A client never finds half of it.
inline bool leave_address(DAT_IA_HANDLE ia) {
    if (address_file() == nullptr) return true;
    DAT_IA_ATTR attributes{};
    if (dat_ia_query(ia, nullptr, DAT_IA_FIELD_ALL, &attributes, 0, nullptr) != DAT_SUCCESS)
        return false;
    const std::string unfinished = std::string(address_file()) + ".new";
    std::FILE* file = std::fopen(unfinished.c_str(), "wb");
    if (file == nullptr) return false;
    const bool written = std::fwrite(attributes.ia_address_ptr, sizeof(sockaddr_in6), 1, file) == 1;
    return std::fclose(file) == 0 && written &&
           std::rename(unfinished.c_str(), address_file()) == 0;
}

/// @param text IPv4 address, without meaning if there is a file.
/// @return false if there is no address.
inline bool find_address(const char* text, sockaddr_storage& address) {
    std::memset(&address, 0, sizeof address);
    if (address_file() == nullptr) {
        address.ss_family = AF_INET;
        return inet_pton(AF_INET, text, &reinterpret_cast<sockaddr_in&>(address).sin_addr) == 1;
    }
    std::FILE* file = std::fopen(address_file(), "rb");
    if (file == nullptr) return false;
    const bool read = std::fread(&address, sizeof(sockaddr_in6), 1, file) == 1;
    return std::fclose(file) == 0 && read;
}

}  // namespace test
