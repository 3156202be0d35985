#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs the faulty programs of test/check with the checks on rdma_rxe: what is found depends on the
# program, not on the device.
# shellcheck disable=SC2034,SC2154 # for finds.bash; from the helpers
load helpers
load ../check/finds

setup() {
    use_device ours cma rxe0
    program=$TOP_BUILDDIR/test/check/program
    place=(ia "$server_address")
    export OPENDAT_CHECK=on
}

@test "cma on rxe0: memory" {
    finds not_registered DAT401 "dat_ep_post_send at not_registered .*names context 0x7fffff01"
    finds out_of_range DAT402 "dat_ep_post_send at out_of_range .*is not within the region of context"
    finds no_right DAT403 "dat_ep_post_recv at no_right .* needs the right to local write"
    finds other_zone DAT404 "dat_ep_post_recv at other_zone .* whose protection zone is not"
    finds ended DAT405 "dat_ep_post_send at ended .* and freed at ended "
    finds unmapped DAT406 "dat_ep_post_recv at receive_into .* is not mapped"
    finds unmapped_in_flight DAT406 "dat_evd_wait at next .* is not mapped"
    finds remote_right DAT403 "dat_ep_post_rdma_write at write_to .*the remote segment .* needs the right to remote write"
    finds remote_range DAT402 "dat_ep_post_rdma_write at write_to .*the remote segment .* is not within the region"
    finds refused DAT407 "in dat_ep_post_rdma_write at refused .*, was refused by the peer"
}

@test "cma on rxe0: buffers in flight" {
    finds changed DAT411 "has changed since it was posted by dat_ep_post_send at send_from "
    finds overlap DAT412 "dat_ep_post_recv at receive_into "
    finds freed_in_flight DAT413 "dat_lmr_free at freed_in_flight "
}

@test "cma on rxe0: queues" {
    finds queue_too_small DAT421 "dat_ep_post_recv at queue_too_small "
    finds never_signalled DAT422 "dat_ep_post_rdma_write at never_signalled "
    finds ignored DAT426 "dat_evd_free at .* a connection that was not made"
}

@test "cma on rxe0: order" {
    finds unfenced DAT441 "dat_ep_post_send at unfenced .* is read while dat_ep_post_rdma_read "
    finds misaligned DAT442 "dat_ib_post_fetch_and_add at misaligned "
}

@test "cma on rxe0: life" {
    finds left DAT431 "dat_ia_close at .*the EVD made at make_evd "
    finds used_after_free DAT432 "dat_evd_dequeue at used_after_free "
    finds other_ia DAT433 "dat_ep_create at other_ia "
    finds private_data DAT434 "bytes of private data are more than the"
}

@test "cma on rxe0: portability" {
    finds many_segments DAT445 "dat_ep_post_recv at many_segments .*siw"
    finds sends_first DAT446 "dat_ep_post_send at send_from "
    finds late_receive DAT447 "dat_ep_post_recv at receive_into "
}

@test "scm on rxe0: a message without a receive" {
    use_device ours scm rxe0
    DAPL_RNR_RETRY=1 finds no_receive DAT425 "found no receive at the peer, the endpoint made at make_ep "
}
