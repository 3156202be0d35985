// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_perf: latency, bandwidth and message rate of a DAT provider between two processes. It uses
/// only the public DAT interface, so that it can measure any implementation of it.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "tools/common/failure.hpp"
#include "tools/common/options.hpp"
#include "tools/perf/cpus.hpp"
#include "tools/perf/interrupt.hpp"
#include "tools/perf/options.hpp"
#include "tools/perf/plot.hpp"
#include "tools/perf/report.hpp"

namespace {

using namespace perf;
using tools::Deadline;
using tools::Failure;
using tools::Socket;

constexpr double kServerWaitsSeconds = 600;
/// A shell reports this status for a program that SIGINT has ended.
constexpr int kInterruptedStatus = 128 + SIGINT;

tools::MeetingPoint meeting_point(const Options& options) {
    return {"dat_perf", options.port, "dat_perf without a HOST", "dat_perf HOST"};
}

void pin_process(const std::vector<int>& cpus) {
    if (!cpus.empty()) pin_to(cpus.front());
}

/// Reports why this side failed: to the other side, and once on stderr, where a person reads it.
/// @param speaks whether this process is the one whose standard error is read
int fail(Channel& channel, const std::exception& failure, bool speaks) {
    const auto* theirs = dynamic_cast<const PeerFailure*>(&failure);
    std::string text = theirs != nullptr ? "" : channel.failure_of_peer();
    const bool was_theirs = theirs != nullptr || !text.empty();
    if (theirs != nullptr) text = theirs->what();
    if (!was_theirs) {
        text = failure.what();
        try {
            channel.send("failed", text);
        } catch (const std::exception&) {
            // The other side is gone: that is what failed, or it will notice.
        }
    }
    std::fflush(stdout);
    if (speaks)
        std::fprintf(stderr, "dat_perf: %s%s\n", was_theirs ? "the other side failed: " : "",
                     text.c_str());
    return tools::kFailureStatus;
}

/// Prints what remains: the rows have been printed already.
int report(const Findings& findings, const Options& options) {
    if (options.json) print_json(findings, options);
    if (!options.json && findings.results.empty()) print_heading(findings, options);
    if (!options.plot.empty())
        write_plot(options.plot, plot_of(findings.results, "dat_perf: " + options.provider + " (" +
                                                               findings.provider_name + ")"));
    return tools::flush_output();
}

int run_client(Socket socket, const Options& options) {
    Channel channel(std::move(socket), options.terms.timeout_seconds);
    Findings findings;
    try {
        catch_interrupts();
        measure(channel, options, findings, [&] {
            if (!options.json) print_row(findings, options);
        });
        return report(findings, options);
    } catch (const Interrupted& interrupt) {
        fail(channel, interrupt, false);
        report(findings, options);
        std::fprintf(stderr, "dat_perf: interrupted after %zu of %zu measurements\n",
                     findings.results.size(), findings.planned);
        return kInterruptedStatus;
    } catch (const std::exception& failure) {
        return fail(channel, failure, true);
    }
}

int run_server(Socket socket, const Options& options, const std::vector<int>& cpus, bool speaks) {
    Channel channel(std::move(socket), options.terms.timeout_seconds);
    try {
        Session::serve(channel, {options.provider, cpus});
        return 0;
    } catch (const std::exception& failure) {
        return fail(channel, failure, speaks);
    }
}

/// Runs both sides here: the server is a child, forked before the first DAT call.
int run_both(const Options& options) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        throw Failure("socketpair", std::strerror(errno), "a pair of sockets", "try again");
    Socket mine(ends[0]);
    Socket theirs(ends[1]);
    const pid_t child = fork();
    if (child < 0) throw Failure("fork", std::strerror(errno), "a process", "try again");
    if (child == 0) {
        mine = Socket();
        // Ctrl-C goes to both processes: the client ends this one.
        signal(SIGINT, SIG_IGN);
        pin_process(options.peer_cpus);
        _exit(run_server(std::move(theirs), options, options.peer_cpus, false));
    }
    theirs = Socket();
    pin_process(options.cpus);
    const int status = run_client(std::move(mine), options);
    int child_status = 0;
    waitpid(child, &child_status, 0);
    if (status == 0 && child_status != 0) {
        std::fprintf(stderr, "dat_perf: the server failed after the last measurement\n");
        return tools::kFailureStatus;
    }
    return status;
}

int run(const Options& options) {
    if (options.both) return run_both(options);
    pin_process(options.cpus);
    const tools::MeetingPoint point = meeting_point(options);
    if (!options.host.empty()) {
        const Deadline deadline(options.terms.timeout_seconds);
        return run_client(connect_to_server(options.host, point, deadline), options);
    }
    const Socket listener = listen_for_client(point);
    return run_server(accept_client(listener, point, Deadline(kServerWaitsSeconds)), options,
                      options.cpus, true);
}

}  // namespace

int main(int argc, char** argv) {
    int exit_status = 0;
    const std::optional<Options> options = parse_options(argc, argv, exit_status);
    if (!options) return exit_status;
    return tools::run("dat_perf", [&] { return run(*options); });
}
