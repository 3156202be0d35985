// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest/side_channel.hpp"

namespace dtest {

void send_record(const tools::Socket& socket, const Record& record,
                 const tools::Deadline& deadline) {
    const RecordBytes bytes = encode_record(record);
    tools::send_bytes(socket, bytes.data(), bytes.size(), "the server's record", deadline);
}

Record receive_record(const tools::Socket& socket, const tools::Deadline& deadline) {
    RecordBytes bytes;
    for (std::size_t got = 0; got < bytes.size();) {
        got += tools::receive_some(socket, bytes.data() + got, bytes.size() - got,
                                   "the server's record", deadline);
    }
    return decode_record(bytes);
}

}  // namespace dtest
