// SPDX-License-Identifier: BSD-2-Clause
// Adapter instances of two provider libraries open at once in one process: each reports its own
// attributes only, and they can connect to each other. Prints what is wrong and exits with 1, or
// exits with 0.
#include "test/api/side.hpp"

namespace {

using namespace test;

struct Answers {
    explicit Answers(const Side& side) {
        succeed(dat_ia_query(side.ia, nullptr, DAT_IA_FIELD_ALL, &ia, DAT_PROVIDER_FIELD_ALL,
                             &provider),
                "dat_ia_query");
    }
    DAT_IA_ATTR ia{};
    DAT_PROVIDER_ATTR provider{};
};

void expect_own_attributes(const Side& one, const Side& other) {
    const Answers first(one);
    const Answers second(other);
    const Answers again(one);
    require(std::string(first.provider.provider_name) == "verbs0", "the first one's name");
    require(std::string(second.provider.provider_name) == "soft0", "the second one's name");
    require(std::string(again.provider.provider_name) == "verbs0", "the first one's name again");
    require(first.provider.provider_specific_attr == again.provider.provider_specific_attr &&
                first.provider.provider_specific_attr != second.provider.provider_specific_attr,
            "named attributes of each one's own");
    require(first.ia.ia_address_ptr != second.ia.ia_address_ptr, "an address of each one's own");
}

void expect_connection(const Side& one, const Side& other, DAT_CONN_QUAL qualifier) {
    one.listen(qualifier);
    const DAT_EP_HANDLE active = other.endpoint();
    succeed(Side::connect(active, qualifier), "dat_ep_connect");
    one.accept_next();
    other.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, active);
    succeed(dat_ep_disconnect(active, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
    for (const Side* side : {&one, &other})
        Side::wait(side->connections, DAT_CONNECTION_EVENT_DISCONNECTED);
}

void check() {
    Side verbs("verbs0");
    Side soft("soft0");
    expect_own_attributes(verbs, soft);
    expect_connection(verbs, soft, 4760);
    expect_connection(soft, verbs, 4761);
    verbs.close();
    const Answers left(soft);
    require(std::string(left.provider.provider_name) == "soft0", "the one that is left");
    soft.close();
}

}  // namespace

int main() {
    try {
        check();
    } catch (const std::exception& failure) {
        fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
    return 0;
}
