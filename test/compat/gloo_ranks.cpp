// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A rank of gloo's verbs transport: reduces, gathers and passes numbers around, and checks every
/// one. usage: gloo_ranks RANK RANKS DIRECTORY
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

int wrong = 0;

/// Runs an algorithm and leaves it: its buffers must not be destroyed before gloo's own thread has
/// seen all their completions, for which nobody can wait.
template <class Algorithm>
void run(Algorithm* algorithm) {
    algorithm->run();
}

void expect(const char* what, std::size_t count, std::size_t at, long found, long wanted) {
    if (found == wanted) return;
    ++wrong;
    std::cout << what << " of " << count << ": " << found << " at " << at << " instead of "
              << wanted << "\n";
}

void reduce(const std::shared_ptr<gloo::rendezvous::Context>& context, std::size_t count) {
    auto& numbers = *new std::vector<long>(count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<long>(i) + context->rank;
    run(new gloo::AllreduceRingChunked<long>(context, {numbers.data()}, static_cast<int>(count)));
    const long ranks = context->size;
    for (std::size_t i = 0; i < count; ++i)
        expect("sum", count, i, numbers[i], ranks * static_cast<long>(i) + ranks * (ranks - 1) / 2);
}

void broadcast(const std::shared_ptr<gloo::rendezvous::Context>& context, std::size_t count) {
    auto& numbers = *new std::vector<long>(count, context->rank == 0 ? 77 : -1);
    run(new gloo::BroadcastOneToAll<long>(context, {numbers.data()}, static_cast<int>(count)));
    for (std::size_t i = 0; i < count; ++i) expect("broadcast", count, i, numbers[i], 77);
}

/// A rank that ended now would fail the last sends of the others.
void await_others(gloo::rendezvous::Store& store, int rank, int ranks) {
    std::vector<std::string> all;
    for (int i = 0; i < ranks; ++i) all.push_back("done" + std::to_string(i));
    store.set(all[static_cast<std::size_t>(rank)], {1});
    store.wait(all);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    gloo::rendezvous::FileStore store(argv[3]);
    auto context =
        std::make_shared<gloo::rendezvous::Context>(std::stoi(argv[1]), std::stoi(argv[2]));
    auto device = gloo::transport::ibverbs::CreateDevice({"soft0", 1, 0});
    context->connectFullMesh(store, device);
    for (const std::size_t count : {1u, 100u, 10000u, 1000000u}) {
        reduce(context, count);
        broadcast(context, count);
    }
    run(new gloo::BarrierAllToAll(context));
    if (wrong == 0) std::cout << "rank " << argv[1] << " is right" << std::endl;
    await_others(store, context->rank, context->size);
    std::quick_exit(wrong == 0 ? 0 : 1);
}
