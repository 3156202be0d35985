// SPDX-License-Identifier: BSD-2-Clause
// Which memory can be registered, as which type and with which privileges, and which transfers are
// then allowed. Both ends of each connection are in one process, except where two share memory.
#include <dat2/dat_opendat.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4720;
constexpr std::size_t kPage = 4096;
constexpr unsigned kAll = DAT_MEM_PRIV_ALL_FLAG;

DAT_REGION_DESCRIPTION at(void* address) {
    DAT_REGION_DESCRIPTION region{};
    region.for_va = address;
    return region;
}

/// A registration with everything that dat_lmr_create returns.
struct Region {
    DAT_RETURN code = 0;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT local = 0;
    DAT_RMR_CONTEXT remote = 0;
    DAT_VLEN length = 0;
    DAT_VADDR address = 1;

    DAT_LMR_TRIPLET segment(std::size_t size) const {
        DAT_LMR_TRIPLET triplet{};
        triplet.virtual_address = address;
        triplet.segment_length = static_cast<DAT_SEG_LENGTH>(size);
        triplet.lmr_context = local;
        return triplet;
    }
    DAT_RMR_TRIPLET target(std::size_t size) const {
        DAT_RMR_TRIPLET triplet{};
        triplet.virtual_address = address;
        triplet.segment_length = static_cast<DAT_SEG_LENGTH>(size);
        triplet.rmr_context = remote;
        return triplet;
    }
};

Region register_at(const Side& side, DAT_REGION_DESCRIPTION memory, DAT_VLEN length,
                   unsigned privileges = kAll, DAT_MEM_TYPE type = DAT_MEM_TYPE_VIRTUAL,
                   DAT_VA_TYPE va_type = DAT_VA_TYPE_VA, DAT_PZ_HANDLE pz = DAT_HANDLE_NULL) {
    Region made;
    made.code = dat_lmr_create(side.ia, type, memory, length, pz ? pz : side.pz,
                               static_cast<DAT_MEM_PRIV_FLAGS>(privileges), va_type, &made.lmr,
                               &made.local, &made.remote, &made.length, &made.address);
    return made;
}

/// An anonymous file of one page.
class File {
  public:
    File() : descriptor_(memfd_create("memory", 0)) {
        if (descriptor_ < 0 || ftruncate(descriptor_, kPage) != 0)
            throw std::runtime_error("no file");
    }
    ~File() { close(descriptor_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    void* map(int protection, int flags = MAP_SHARED, std::size_t size = kPage) const {
        void* memory = mmap(nullptr, size, protection, flags, descriptor_, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("mmap failed");
        return memory;
    }

  private:
    int descriptor_;
};

class Memory : public testing::Test {
  protected:
    void connect() {
        side.listen(kQualifier);
        ep = side.endpoint();
        succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
        const DAT_EP_HANDLE passive = side.endpoint();
        succeed(dat_cr_accept(side.request(), passive, 0, nullptr), "dat_cr_accept");
        for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    }
    /// @return the status of the write's completion.
    DAT_DTO_COMPLETION_STATUS write(const Region& from, const Region& to, std::size_t size) {
        DAT_LMR_TRIPLET local = from.segment(size);
        const DAT_RMR_TRIPLET remote = to.target(size);
        succeed(dat_ep_post_rdma_write(ep, 1, &local, {}, &remote, DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_rdma_write");
        return status();
    }
    DAT_DTO_COMPLETION_STATUS read(const Region& to, const Region& from, std::size_t size) {
        DAT_LMR_TRIPLET local = to.segment(size);
        const DAT_RMR_TRIPLET remote = from.target(size);
        succeed(dat_ep_post_rdma_read(ep, 1, &local, {}, &remote, DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_rdma_read");
        return status();
    }
    DAT_DTO_COMPLETION_STATUS status() const {
        return Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT)
            .event_data.dto_completion_event_data.status;
    }

    TemporaryFabric fabric;
    Side side;
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    alignas(kPage) char source[kPage] = "what is to arrive";
    alignas(kPage) char target[kPage] = {};
};

TEST_F(Memory, ThatMayOnlyBeReadIsRegisteredForReadingOnly) {
    const File file;
    std::vector<void*> mappings{
        mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        file.map(PROT_READ, MAP_PRIVATE),
    };
    // Linux 6.1 pins all memory for writing and therefore refuses a read-only shared mapping of a
    // file.
    if (test::is_soft0()) mappings.push_back(file.map(PROT_READ, MAP_SHARED));
    for (void* const memory : mappings) {
        ASSERT_NE(memory, MAP_FAILED);
        EXPECT_EQ(register_at(side, at(memory), kPage, kAll).code, 0x00030000u);
        EXPECT_EQ(register_at(side, at(memory), kPage, DAT_MEM_PRIV_LOCAL_WRITE_FLAG).code,
                  0x00030000u);
        const Region good = register_at(side, at(memory), kPage, DAT_MEM_PRIV_READ_FLAG);
        EXPECT_EQ(good.code, DAT_SUCCESS);
        EXPECT_EQ(dat_lmr_free(good.lmr), DAT_SUCCESS);
    }
    void* const mixed =
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(mprotect(static_cast<char*>(mixed) + kPage, kPage, PROT_READ), 0);
    EXPECT_EQ(register_at(side, at(mixed), 2 * kPage).code, 0x00030000u) << "half of it";
    EXPECT_EQ(register_at(side, at(mixed), kPage).code, DAT_SUCCESS);
}

TEST_F(Memory, ThatMayOnlyBeReadCanBeSentAndReadByPeersWithoutBeingWritable) {
    connect();
    const File file;
    std::strcpy(static_cast<char*>(file.map(PROT_READ | PROT_WRITE)), "from a file");
    const Region shown = register_at(side, at(file.map(PROT_READ)), kPage, DAT_MEM_PRIV_READ_FLAG);
    if (shown.code != DAT_SUCCESS && !test::is_soft0())
        GTEST_SKIP() << "the kernel pins a file's memory for writing, or not at all";
    ASSERT_EQ(shown.code, DAT_SUCCESS);
    const Region to = register_at(side, at(target), kPage);
    EXPECT_EQ(read(to, shown, 12), DAT_DTO_SUCCESS);
    EXPECT_STREQ(target, "from a file");
    EXPECT_EQ(write(shown, to, 12), DAT_DTO_SUCCESS) << "as the source of a write";
    EXPECT_EQ(write(to, shown, 12), DAT_DTO_ERR_REMOTE_ACCESS);
}

TEST_F(Memory, ThatIsNotThereIsRefused) {
    char* const pages = static_cast<char*>(
        mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const File file;
    void* const beyond_the_end = file.map(PROT_READ | PROT_WRITE, MAP_SHARED, 2 * kPage);
    void* const no_access = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(munmap(pages + kPage, kPage), 0) << "last: another mapping would fill the hole";
    const unsigned read_only = DAT_MEM_PRIV_READ_FLAG;
    for (const unsigned privileges : {kAll, read_only}) {
        EXPECT_EQ(register_at(side, at(nullptr), kPage, privileges).code, 0x00030000u);
        EXPECT_EQ(register_at(side, at(pages + kPage), kPage, privileges).code, 0x00030000u);
        EXPECT_EQ(register_at(side, at(pages), 3 * kPage, privileges).code, 0x00030000u) << "hole";
        EXPECT_EQ(register_at(side, at(pages), ~DAT_VLEN{0}, privileges).code, 0x00030000u);
        EXPECT_EQ(register_at(side, at(pages), ~DAT_VLEN{0} << 12, privileges).code, 0x00030000u);
        EXPECT_EQ(register_at(side, at(beyond_the_end), 2 * kPage, privileges).code, 0x00030000u);
        // For a device that only reads, the kernel pins memory even where its owner has no access.
        if (privileges == kAll || test::is_soft0()) {
            EXPECT_EQ(register_at(side, at(no_access), kPage, privileges).code, 0x00030000u);
        }
        EXPECT_EQ(register_at(side, at(pages + 2 * kPage), kPage, privileges).code, DAT_SUCCESS);
    }
}

TEST_F(Memory, IsRegisteredManyTimesOverAndEachRegistrationIsOnItsOwn) {
    connect();
    const Region from = register_at(side, at(source), 1024);
    const Region whole = register_at(side, at(target), 1024);
    const Region same = register_at(side, at(target), 1024);
    const Region inner = register_at(side, at(target + 100), 100);
    EXPECT_NE(whole.remote, same.remote);
    EXPECT_EQ(write(from, same, 18), DAT_DTO_SUCCESS);
    ASSERT_EQ(dat_lmr_free(same.lmr), DAT_SUCCESS);
    EXPECT_EQ(write(from, inner, 18), DAT_DTO_SUCCESS);
    EXPECT_STREQ(target, source);
    EXPECT_STREQ(target + 100, source);
    EXPECT_EQ(write(from, whole, 1024), DAT_DTO_SUCCESS);
    EXPECT_EQ(write(from, inner, 101), DAT_DTO_ERR_REMOTE_ACCESS);
}

TEST_F(Memory, OfAnLmrIsRegisteredAgainWithItsOwnZoneAndPrivileges) {
    connect();
    const Region from = register_at(side, at(source), 64);
    Region original = register_at(side, at(target), 64, DAT_MEM_PRIV_READ_FLAG);
    ASSERT_EQ(original.code, DAT_SUCCESS);
    DAT_REGION_DESCRIPTION memory{};
    memory.for_lmr_handle = original.lmr;
    DAT_PZ_HANDLE other_zone;
    ASSERT_EQ(dat_pz_create(side.ia, &other_zone), DAT_SUCCESS);
    const Region writable = register_at(side, memory, 0, kAll, DAT_MEM_TYPE_LMR);
    ASSERT_EQ(writable.code, DAT_SUCCESS);
    EXPECT_EQ(writable.length, 64u) << "the length given is not used";
    EXPECT_EQ(writable.address, original.address);
    EXPECT_NE(writable.remote, original.remote);
    const Region elsewhere =
        register_at(side, memory, 0, kAll, DAT_MEM_TYPE_LMR, DAT_VA_TYPE_VA, other_zone);
    ASSERT_EQ(elsewhere.code, DAT_SUCCESS);
    DAT_LMR_PARAM parameters;
    ASSERT_EQ(dat_lmr_query(elsewhere.lmr, DAT_LMR_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.mem_type, DAT_MEM_TYPE_LMR);
    EXPECT_EQ(parameters.region_desc.for_lmr_handle, original.lmr);
    EXPECT_EQ(parameters.length, 64u);
    EXPECT_EQ(parameters.pz_handle, other_zone);
    EXPECT_EQ(parameters.lmr_context, elsewhere.local);
    EXPECT_EQ(parameters.rmr_context, elsewhere.remote);
    EXPECT_EQ(dat_pz_free(other_zone), 0x80070053u);
    ASSERT_EQ(dat_lmr_free(original.lmr), DAT_SUCCESS) << "it is not needed any more";
    EXPECT_EQ(write(from, writable, 18), DAT_DTO_SUCCESS);
    EXPECT_STREQ(target, source);
    EXPECT_EQ(write(from, elsewhere, 18), DAT_DTO_ERR_REMOTE_ACCESS) << "a zone of its own";
    EXPECT_EQ(register_at(side, memory, 0, kAll, DAT_MEM_TYPE_LMR).code, 0x8005000Du) << "freed";
}

constexpr DAT_RETURN kInvalidArgument = DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;

TEST_F(Memory, IsFoundByTheContextOfItsLmrUntilThatIsFreed) {
    DAT_LMR_HANDLE found = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT gone = 0;
    {
        const Buffer first(side), second(side);
        for (const Buffer* each : {&first, &second}) {
            ASSERT_EQ(dat_opendat_lmr_find(side.ia, each->local_key, &found), DAT_SUCCESS);
            EXPECT_EQ(found, each->lmr);
        }
        EXPECT_EQ(dat_opendat_lmr_find(side.ia, first.local_key, nullptr),
                  kInvalidArgument | DAT_INVALID_ARG3);
        EXPECT_EQ(dat_opendat_lmr_find(side.pz, first.local_key, &found),
                  DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA);
        gone = first.local_key;
    }
    const DAT_LMR_HANDLE before = found;
    EXPECT_EQ(dat_opendat_lmr_find(side.ia, gone, &found), kInvalidArgument | DAT_INVALID_ARG2);
    EXPECT_EQ(found, before);
}

TEST_F(Memory, OfAnLmrOrInAZoneOfAnotherAdapterInstanceIsRefused) {
    const Side other;
    const Region theirs = register_at(other, at(target), 64);
    DAT_REGION_DESCRIPTION memory{};
    memory.for_lmr_handle = theirs.lmr;
    EXPECT_EQ(register_at(side, memory, 0, kAll, DAT_MEM_TYPE_LMR).code, 0x8005000Du);
    memory.for_lmr_handle = side.pz;
    EXPECT_EQ(register_at(side, memory, 0, kAll, DAT_MEM_TYPE_LMR).code, 0x8005000Du);
    memory.for_lmr_handle = DAT_HANDLE_NULL;
    EXPECT_EQ(register_at(side, memory, 0, kAll, DAT_MEM_TYPE_LMR).code, 0x8005000Du);
    EXPECT_EQ(
        register_at(side, at(target), 64, kAll, DAT_MEM_TYPE_VIRTUAL, DAT_VA_TYPE_VA, other.pz)
            .code,
        0x8005000Fu);
}

TEST_F(Memory, OfASharedReceiveQueuesZoneTakesMessagesForAnEndpointOfAnother) {
    DAT_PZ_HANDLE other_zone;
    ASSERT_EQ(dat_pz_create(side.ia, &other_zone), DAT_SUCCESS);
    DAT_SRQ_ATTR attributes{};
    attributes.max_recv_dtos = 8;
    attributes.max_recv_iov = 1;
    DAT_SRQ_HANDLE srq;
    ASSERT_EQ(dat_srq_create(side.ia, other_zone, &attributes, &srq), DAT_SUCCESS);
    side.listen(kQualifier);
    ep = side.endpoint();
    succeed(Side::connect(ep, kQualifier), "dat_ep_connect");
    DAT_EP_HANDLE passive;
    ASSERT_EQ(dat_ep_create_with_srq(side.ia, side.pz, side.receives, side.sends, side.connections,
                                     srq, nullptr, &passive),
              DAT_SUCCESS);
    succeed(dat_cr_accept(side.request(), passive, 0, nullptr), "dat_cr_accept");
    for (int i = 0; i < 2; ++i) Side::wait(side.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
    const Region to = register_at(side, at(target), kPage, kAll, DAT_MEM_TYPE_VIRTUAL,
                                  DAT_VA_TYPE_VA, other_zone);
    const Region from = register_at(side, at(source), kPage);
    DAT_LMR_TRIPLET receive = to.segment(64);
    ASSERT_EQ(dat_srq_post_recv(srq, 1, &receive, {}), DAT_SUCCESS);
    DAT_LMR_TRIPLET sent = from.segment(18);
    ASSERT_EQ(dat_ep_post_send(ep, 1, &sent, {}, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
    EXPECT_EQ(status(), DAT_DTO_SUCCESS);
    const DAT_EVENT event = Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT);
    EXPECT_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
    EXPECT_STREQ(target, source);
}

/// Registers the shared page, under the same cookie in every process.
Region register_shared(const Side& side, void* memory) {
    char cookie[DAT_LMR_COOKIE_SIZE] = "the shared page";
    DAT_REGION_DESCRIPTION region{};
    region.for_shared_memory.virtual_address = memory;
    region.for_shared_memory.shared_memory_id = &cookie;
    return register_at(side, region, kPage, kAll, DAT_MEM_TYPE_SHARED_VIRTUAL);
}

TEST(SharedMemory, IsRegisteredByEachProcessUnderOneCookieAndWrittenThroughEither) {
    const TemporaryFabric fabric;
    const File file;
    Child child([&](Channel& channel) {
        const Side side;
        char* const memory = static_cast<char*>(file.map(PROT_READ | PROT_WRITE));
        const Region region = register_shared(side, memory);
        succeed(region.code, "dat_lmr_create");
        side.listen(kQualifier);
        channel.send(region.target(kPage));
        const DAT_EP_HANDLE ep = side.accept_next();
        require(channel.receive<char>() == 'w', "the other process has written");
        require(std::strcmp(memory, "through theirs") == 0, "what is written is seen here");
        side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    });
    const Side side;
    auto* const memory = static_cast<char*>(file.map(PROT_READ | PROT_WRITE));
    const Region mine = register_shared(side, memory);
    ASSERT_EQ(mine.code, DAT_SUCCESS);
    DAT_LMR_PARAM parameters;
    ASSERT_EQ(dat_lmr_query(mine.lmr, DAT_LMR_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.mem_type, DAT_MEM_TYPE_SHARED_VIRTUAL);
    const DAT_SHARED_MEMORY& shared = parameters.region_desc.for_shared_memory;
    EXPECT_EQ(shared.virtual_address, memory);
    EXPECT_STREQ(*shared.shared_memory_id, "the shared page") << "a copy of what was given";

    const auto theirs = child.channel().receive<DAT_RMR_TRIPLET>();
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    Buffer buffer(side, 16);
    buffer.bytes = std::string("through theirs") + '\0' + '\0';
    DAT_LMR_TRIPLET local = buffer.all();
    succeed(dat_ep_post_rdma_write(ep, 1, &local, {}, &theirs, DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_rdma_write");
    const DAT_EVENT event = Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
    EXPECT_EQ(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
    EXPECT_STREQ(memory, "through theirs") << "written through the other process's registration";
    child.channel().send('w');
    EXPECT_EQ(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
    EXPECT_EQ(child.wait(), 0);
}

TEST_F(Memory, ThatIsSharedNeedsACookie) {
    DAT_REGION_DESCRIPTION region{};
    region.for_shared_memory.virtual_address = target;
    EXPECT_EQ(register_at(side, region, kPage, kAll, DAT_MEM_TYPE_SHARED_VIRTUAL).code,
              0x80060027u);
}

TEST_F(Memory, WithZeroBasedAddressesBeginsAtZeroForBothEnds) {
    connect();
    const Region from =
        register_at(side, at(source + 3), 64, kAll, DAT_MEM_TYPE_VIRTUAL, DAT_VA_TYPE_ZB);
    const Region to = register_at(side, at(target), 64, kAll, DAT_MEM_TYPE_VIRTUAL, DAT_VA_TYPE_ZB);
    ASSERT_EQ(from.code, DAT_SUCCESS);
    ASSERT_EQ(to.code, DAT_SUCCESS);
    EXPECT_EQ(from.address, 0u);
    EXPECT_EQ(write(from, to, 15), DAT_DTO_SUCCESS);
    EXPECT_STREQ(target, source + 3);
    DAT_LMR_PARAM parameters;
    ASSERT_EQ(dat_lmr_query(from.lmr, DAT_LMR_FIELD_ALL, &parameters), DAT_SUCCESS);
    EXPECT_EQ(parameters.va_type, DAT_VA_TYPE_ZB);
    EXPECT_EQ(parameters.region_desc.for_va, source + 3);
    EXPECT_EQ(parameters.registered_address, 0u);
    DAT_REGION_DESCRIPTION memory{};
    memory.for_lmr_handle = from.lmr;
    const Region plain = register_at(side, memory, 0, kAll, DAT_MEM_TYPE_LMR);
    EXPECT_EQ(plain.address, reinterpret_cast<DAT_VADDR>(source + 3)) << "the memory of that LMR";
    Region outside = to;
    outside.address = reinterpret_cast<DAT_VADDR>(target);
    EXPECT_EQ(write(from, outside, 15), DAT_DTO_ERR_REMOTE_ACCESS);
}

TEST_F(Memory, IsSynchronisedForGoodSegmentsAndBadOnesAreRefused) {
    const Region region = register_at(side, at(target), kPage);
    DAT_LMR_TRIPLET segments[2] = {region.segment(10), region.segment(20)};
    for (const auto synchronise : {dat_lmr_sync_rdma_read, dat_lmr_sync_rdma_write}) {
        EXPECT_EQ(synchronise(side.ia, segments, 2), DAT_SUCCESS);
        EXPECT_EQ(synchronise(side.ia, nullptr, 0), DAT_SUCCESS);
        EXPECT_EQ(synchronise(side.ia, nullptr, 1), 0x80060026u);
        DAT_LMR_TRIPLET wrapped = segments[0];
        wrapped.virtual_address = ~DAT_VADDR{0} - 5;
        EXPECT_EQ(synchronise(side.ia, &wrapped, 1), 0x80060026u);
        EXPECT_EQ(synchronise(side.pz, segments, 2), 0x8005000Bu);
        EXPECT_EQ(synchronise(DAT_HANDLE_NULL, segments, 2), 0x8005000Bu);
    }
}

}  // namespace
