// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A table into which somebody writes at random: its users may get wrong results or none, but must
/// not crash or loop for ever.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <random>

#include "broker/table/table.hpp"
#include "test/broker/registration_fixture.hpp"

namespace registration {
namespace {

/// The file of a table, which any process of the user can write to.
class Bytes {
  public:
    explicit Bytes(const std::string& file) {
        const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC);
        struct stat status = {};
        fstat(fd, &status);
        size_ = static_cast<std::size_t>(status.st_size);
        bytes_ =
            static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
        close(fd);
        lay_out(table_, bytes_, slots_for(reinterpret_cast<Header*>(bytes_)->capacity_entries));
    }
    ~Bytes() { munmap(bytes_, size_); }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;

    /// Overwrites a word of a part that is in use. Spares the lock, the loss of which is reported.
    void spoil(std::minstd_rand& dice) {
        const auto word = [&](void* part, std::size_t size) {
            const std::uint32_t values[] = {
                0, 1, 2, ~0u, static_cast<std::uint32_t>(dice()), 1u << 31, 0x7fffffffu};
            const std::uint32_t value = values[dice() % std::size(values)];
            std::memcpy(static_cast<char*>(part) + dice() % (size / 4) * 4, &value, 4);
        };
        switch (dice() % 6) {
            case 0:
                return word(&table_.header->sequence, sizeof(Header) - offsetof(Header, sequence));
            case 1:
                return word(&table_.processes[dice() % 3], sizeof(ProcessRow));
            case 2:
                return word(&table_.tickets[dice() % 8], sizeof(TicketRow));
            case 3:
                return word(&table_.uses[dice() % 8], sizeof(SlotUse));
            case 4:
                return word(&table_.slots[dice() % 8], sizeof(SlotRecord));
            default:
                return word(&table_.upcalls[dice() % table_.node_count()], sizeof(UpcallNode));
        }
    }

  private:
    std::size_t size_;
    char* bytes_;
    Table table_;
};

void use(Broker& one, Broker& two, std::minstd_rand& dice) {
    std::vector<SlotId> slots;
    for (int i = 0; i < 6; ++i) {
        if (auto slot = one.try_take({Class(dice() % 3), dice() % 4096})) slots.push_back(*slot);
        if (auto ticket = two.queue({Class(dice() % 3), dice() % 4096}))
            if (dice() % 4 == 0) two.cancel(*ticket);
        one.work();
        two.work();
        for (Broker* broker : {&one, &two})
            for (int fetched = 0; fetched < 100; ++fetched) {
                const auto upcall = broker->next();
                if (!upcall) break;
                if (upcall->kind == Upcall::Kind::kAnnounced && dice() % 2)
                    broker->refuse(upcall->slot, now() + 1);
                else if (!slots.empty() && dice() % 2)
                    broker->offer(upcall->slot, slots[0]);
                else if (broker->accept(upcall->slot))
                    broker->release(upcall->slot);
            }
        (void)two.take({}, now() + 1000);
        (void)one.status();
    }
    for (const SlotId slot : slots) one.release(slot);
}

TEST(RegistrationCorrupt, ATableWithWrongNumbersCrashesNobodyAndHoldsNobodyUp) {
    const int rounds = test::scaled(300);
    Child child([&](Channel&) {
        std::minstd_rand dice(4711);
        for (int round = 0; round < rounds; ++round) {
            const Place place;
            Terms some = terms(4, round % 2 ? "clock" : "weighted-fair-lru");
            some.bytes = 16384;
            some.low = 1;
            some.high = 2;
            auto one = place.join(some), two = place.join(some);
            Bytes bytes(place.file());
            use(*one, *two, dice);
            for (int i = 0; i < 4; ++i) {
                bytes.spoil(dice);
                use(*one, *two, dice);
            }
            (void)look(place.path(), kAdapter);
        }
    });
    EXPECT_EQ(child.wait(), 0);
}

}  // namespace
}  // namespace registration
