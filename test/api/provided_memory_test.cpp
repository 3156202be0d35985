// SPDX-License-Identifier: BSD-2-Clause
// Memory that the library provides: dat_opendat_memory_alloc and dat_opendat_memory_free.
#include <dat2/dat_opendat.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4740;
constexpr DAT_VLEN kSize = 3 * 4096 + 100;
constexpr unsigned kBytes = kSize;

unsigned char pattern(unsigned position, unsigned seed) {
    return static_cast<unsigned char>(position * 7 + position / 251 + seed);
}

/// Memory that the library provides, registered with all privileges.
class Provided {
  public:
    explicit Provided(const Side& side) : ia_(side.ia) {
        void* memory = nullptr;
        succeed(dat_opendat_memory_alloc(ia_, kSize, &memory), "dat_opendat_memory_alloc");
        bytes = static_cast<unsigned char*>(memory);
        DAT_REGION_DESCRIPTION region{};
        region.for_va = memory;
        DAT_VLEN size;
        DAT_VADDR address;
        succeed(dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, region, kSize, side.pz,
                               DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr_, &local.lmr_context,
                               &remote.rmr_context, &size, &address),
                "dat_lmr_create");
        local.virtual_address = remote.virtual_address = address;
        local.segment_length = remote.segment_length = kBytes;
    }
    ~Provided() {
        dat_lmr_free(lmr_);
        dat_opendat_memory_free(ia_, bytes);
    }
    Provided(const Provided&) = delete;
    Provided& operator=(const Provided&) = delete;

    void fill(unsigned seed) {
        for (unsigned i = 0; i < kBytes; ++i) bytes[i] = pattern(i, seed);
    }
    bool holds(unsigned seed) const {
        for (unsigned i = 0; i < kBytes; ++i)
            if (bytes[i] != pattern(i, seed)) return false;
        return true;
    }

    unsigned char* bytes = nullptr;
    DAT_LMR_TRIPLET local{};
    DAT_RMR_TRIPLET remote{};

  private:
    DAT_IA_HANDLE ia_;
    DAT_LMR_HANDLE lmr_ = DAT_HANDLE_NULL;
};

/// Lets the peer write, checks every byte, and fills the memory anew for the peer to read.
void serve(Channel& channel) {
    Side side;
    side.listen(kQualifier);
    channel.send('l');
    const DAT_EP_HANDLE ep = side.accept_next();
    Provided memory(side);
    channel.send(memory.remote);
    channel.receive<char>();
    require(memory.holds(1), "every byte is written");
    memory.fill(2);
    channel.send('c');
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

void expect_success(const Side& side) {
    const DAT_EVENT event = Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    EXPECT_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

TEST(ProvidedMemory, IsWrittenAndReadBetweenProcessesFromAndToSuchMemory) {
    Child child(serve);
    Side side;
    child.channel().receive<char>();
    const DAT_EP_HANDLE ep = side.endpoint();
    ASSERT_EQ(Side::connect(ep, kQualifier), DAT_SUCCESS);
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    const auto remote = child.channel().receive<DAT_RMR_TRIPLET>();
    Provided memory(side);
    memory.fill(1);
    ASSERT_EQ(dat_ep_post_rdma_write(ep, 1, &memory.local, DAT_DTO_COOKIE{}, &remote,
                                     DAT_COMPLETION_DEFAULT_FLAG),
              DAT_SUCCESS);
    expect_success(side);
    child.channel().send('w');
    child.channel().receive<char>();
    ASSERT_EQ(dat_ep_post_rdma_read(ep, 1, &memory.local, DAT_DTO_COOKIE{}, &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG),
              DAT_SUCCESS);
    expect_success(side);
    EXPECT_TRUE(memory.holds(2));
    ASSERT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    EXPECT_EQ(child.wait(), 0);
}

TEST(ProvidedMemory, IsZeroedAndBeginsOnAPage) {
    const Side side;
    void* memory = nullptr;
    ASSERT_EQ(dat_opendat_memory_alloc(side.ia, 5000, &memory), DAT_SUCCESS);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
    const auto* bytes = static_cast<const unsigned char*>(memory);
    EXPECT_TRUE(std::all_of(bytes, bytes + 5000, [](unsigned char byte) { return byte == 0; }));
    EXPECT_EQ(dat_opendat_memory_free(side.ia, memory), DAT_SUCCESS);
}

TEST(ProvidedMemory, ArgumentsAreCheckedAndWhatWasNotGivenIsNotTaken) {
    const Side side, other;
    void* memory = nullptr;
    EXPECT_EQ(dat_opendat_memory_alloc(side.ia, 0, &memory), 0x80060026u);
    EXPECT_EQ(dat_opendat_memory_alloc(side.ia, 1, nullptr), 0x80060027u);
    EXPECT_EQ(dat_opendat_memory_alloc(side.ia, ~DAT_VLEN{0}, &memory), 0x80030002u);
    EXPECT_EQ(memory, nullptr);
    EXPECT_EQ(DAT_GET_TYPE(dat_opendat_memory_alloc(side.pz, 1, &memory)), DAT_INVALID_HANDLE);
    ASSERT_EQ(dat_opendat_memory_alloc(side.ia, 1, &memory), DAT_SUCCESS);
    EXPECT_EQ(dat_opendat_memory_free(other.ia, memory), 0x80060026u) << "another IA's";
    EXPECT_EQ(dat_opendat_memory_free(side.ia, static_cast<char*>(memory) + 1), 0x80060026u);
    EXPECT_EQ(dat_opendat_memory_free(side.ia, memory), DAT_SUCCESS);
    EXPECT_EQ(dat_opendat_memory_free(side.ia, memory), 0x80060026u) << "given back already";
    EXPECT_EQ(dat_opendat_memory_free(side.ia, nullptr), 0x80060026u);
}

TEST(ProvidedMemory, OfAnAdapterThatClosesGoesWithIt) {
    Side side;
    void* memory = nullptr;
    ASSERT_EQ(dat_opendat_memory_alloc(side.ia, kSize, &memory), DAT_SUCCESS);
    side.close();
    const Side next;
    EXPECT_EQ(dat_opendat_memory_free(next.ia, memory), 0x80060026u);
}

}  // namespace
