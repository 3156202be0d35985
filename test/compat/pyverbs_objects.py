#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rdma-core's pyverbs on soft0: its own objects, between two processes. The argument names what to do.

Each of the two processes opens the device itself; they tell each other by a pipe where they are.
"""
import errno
import multiprocessing
import socket
import sys

import pyverbs.cm_enums as ce
import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cmid import CMID, AddrInfo
from pyverbs.cq import CQ, CQEX, CompChannel, CqInitAttrEx, PollCqAttr
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPEx, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

SIZE = 4096
ALL = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ |
       e.IBV_ACCESS_REMOTE_ATOMIC)
EXTENDED_SENDS = (e.IBV_QP_EX_WITH_SEND | e.IBV_QP_EX_WITH_SEND_WITH_IMM | e.IBV_QP_EX_WITH_RDMA_WRITE |
                  e.IBV_QP_EX_WITH_RDMA_READ | e.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)


class End:
    """One process's objects."""

    def __init__(self, extended=False, events=False, shared=False):
        self.context = Context(name='soft0')
        self.pd = PD(self.context)
        self.mr = MR(self.pd, SIZE, ALL | e.IBV_ACCESS_MW_BIND)
        self.channel = CompChannel(self.context) if events else None
        self.cq = (CQEX(self.context, CqInitAttrEx(cqe=64, wc_flags=e.IBV_WC_STANDARD_FLAGS)) if extended
                   else CQ(self.context, 64, None, self.channel, 0))
        if events:
            self.cq.req_notify()
        cap = QPCap(max_send_wr=16, max_recv_wr=16)
        self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=16))) if shared else None
        if extended:
            self.qp = QPEx(self.context, QPInitAttrEx(
                qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap, pd=self.pd, send_ops_flags=EXTENDED_SENDS,
                comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
        else:
            self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, srq=self.srq, cap=cap))

    def connect(self, pipe):
        pipe.send((self.qp.qp_num, self.mr.buf, self.mr.rkey))
        number, self.peer_address, self.peer_key = pipe.recv()
        route = GlobalRoute(dgid=self.context.query_gid(1, 0), sgid_index=0)
        attributes = QPAttr(port_num=1)
        attributes.dest_qp_num = number
        attributes.path_mtu = e.IBV_MTU_1024
        attributes.qp_access_flags = ALL
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 4
        attributes.min_rnr_timer = 12
        attributes.timeout, attributes.retry_cnt, attributes.rnr_retry = 14, 7, 7
        attributes.ah_attr = AHAttr(port_num=1, is_global=1, gr=route, dlid=self.context.query_port(1).lid)
        self.qp.to_rts(attributes)

    def part(self, offset=0, length=16):
        return SGE(self.mr.buf + offset, length, self.mr.lkey)

    def receive(self, offset=0, length=16):
        wr = RecvWR(num_sge=1, sg=[self.part(offset, length)])
        self.srq.post_recv(wr) if self.srq else self.qp.post_recv(wr)

    def post(self, opcode, offset=0, length=16, remote=0, **atomic):
        wr = SendWR(opcode=opcode, num_sge=1, sg=[self.part(offset, length)])
        if opcode in (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ):
            wr.set_wr_rdma(self.peer_key, self.peer_address + remote)
        if atomic:
            wr.set_wr_atomic(self.peer_key, self.peer_address + remote, **atomic)
        self.qp.post_send(wr)

    def wait(self):
        while True:
            count, found = self.cq.poll()
            if count:
                assert found[0].status == e.IBV_WC_SUCCESS, found[0]
                return found[0]

    def close(self):
        for made in (self.qp, self.srq, self.cq, self.channel, self.mr, self.pd, self.context):
            if made:
                made.close()


def two_processes(first, second):
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=second, args=(there,))
    process.start()
    first(here)
    process.join(60)
    assert process.exitcode == 0, f'the other process ended with {process.exitcode}'


def rc_transfer():
    def passive(pipe):
        end = End()
        end.connect(pipe)
        end.receive()
        pipe.recv()
        assert end.wait().byte_len == 16
        assert end.mr.read(16, 0) == b'm' * 16
        assert end.mr.read(16, 64) == b'w' * 16
        assert int.from_bytes(end.mr.read(8, 128), 'little') == 5
        end.close()

    def active(pipe):
        end = End()
        end.connect(pipe)
        end.mr.write('m' * 16, 16, 0)
        end.post(e.IBV_WR_SEND)
        end.wait()
        end.mr.write('w' * 16, 16, 0)
        end.post(e.IBV_WR_RDMA_WRITE, remote=64)
        end.wait()
        end.post(e.IBV_WR_RDMA_READ, offset=256, remote=64)
        end.wait()
        assert end.mr.read(16, 256) == b'w' * 16
        end.post(e.IBV_WR_ATOMIC_FETCH_AND_ADD, offset=512, length=8, remote=128, compare_add=5)
        assert end.wait().opcode == e.IBV_WC_FETCH_ADD
        assert int.from_bytes(end.mr.read(8, 512), 'little') == 0
        pipe.send('done')
        end.close()

    two_processes(active, passive)


def extended_transfer():
    def poll_extended(cq):
        while cq.start_poll(PollCqAttr()) == errno.ENOENT:
            pass
        assert cq.status == e.IBV_WC_SUCCESS
        found = cq.wr_id, cq.read_opcode(), cq.read_byte_len(), cq.read_imm_data()
        cq.end_poll()
        return found

    def passive(pipe):
        end = End(extended=True)
        end.mr.write('y' * 16, 16, 512)
        end.connect(pipe)
        end.receive()
        pipe.recv()
        _, opcode, length, immediate = poll_extended(end.cq)
        # pyverbs converts the immediate data to network byte order when it sends, but not back when
        # it receives.
        assert (opcode, length, socket.ntohl(immediate)) == (e.IBV_WC_RECV, 16, 7), (opcode, length, immediate)
        assert end.mr.read(16, 0) == b'x' * 16
        end.close()

    def active(pipe):
        end = End(extended=True)
        end.connect(pipe)
        end.mr.write('x' * 16, 16, 0)
        qp = end.qp
        qp.wr_start()
        qp.wr_id, qp.wr_flags = 1, 0
        qp.wr_send_imm(7)
        qp.wr_set_sge(end.part())
        qp.wr_id, qp.wr_flags = 2, e.IBV_SEND_SIGNALED
        qp.wr_rdma_read(end.peer_key, end.peer_address + 512)
        qp.wr_set_sge(end.part(256))
        qp.wr_complete()
        assert poll_extended(end.cq)[:2] == (2, e.IBV_WC_RDMA_READ)
        assert end.mr.read(16, 256) == b'y' * 16
        pipe.send('done')
        end.close()

    two_processes(active, passive)


def shared_receives_and_events():
    def passive(pipe):
        end = End(events=True, shared=True)
        end.receive(64)
        end.connect(pipe)
        end.channel.get_cq_event(end.cq)
        end.cq.ack_events(1)
        end.wait()
        assert end.mr.read(16, 64) == b's' * 16
        pipe.send('done')
        end.close()

    def active(pipe):
        end = End()
        end.connect(pipe)
        end.mr.write('s' * 16, 16, 0)
        end.post(e.IBV_WR_SEND)
        end.wait()
        pipe.recv()
        end.close()

    two_processes(active, passive)


def windows_and_reregistration():
    def passive(pipe):
        end = End()
        window = MW(end.pd, e.IBV_MW_TYPE_1)
        end.connect(pipe)
        end.qp.bind_mw(window, MWBind(MWBindInfo(end.mr, end.mr.buf + 1024, 64, e.IBV_ACCESS_REMOTE_WRITE),
                                      e.IBV_SEND_SIGNALED))
        assert end.wait().opcode == e.IBV_WC_BIND_MW
        pipe.send(window.rkey)
        pipe.recv()
        assert end.mr.read(16, 1024) == b'v' * 16
        window.close()
        end.mr.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, access=e.IBV_ACCESS_LOCAL_WRITE)
        end.close()

    def active(pipe):
        end = End()
        end.connect(pipe)
        end.peer_key = pipe.recv()
        end.mr.write('v' * 16, 16, 0)
        end.post(e.IBV_WR_RDMA_WRITE, remote=1024)
        end.wait()
        pipe.send('done')
        end.close()

    two_processes(active, passive)


def connection_manager():
    """The synchronous calls of rdma_cm, as pyverbs' CMID makes them."""
    def wishes():
        return QPInitAttr(qp_type=e.IBV_QPT_RC, cap=QPCap(max_send_wr=4, max_recv_wr=4))

    def passive(pipe):
        listener = CMID(creator=AddrInfo(src='127.0.0.1', src_service='7471', port_space=ce.RDMA_PS_TCP,
                                         flags=ce.RAI_PASSIVE), qp_init_attr=wishes())
        listener.listen()
        pipe.send('listening')
        end = listener.get_request()
        memory = end.reg_msgs(64)
        end.post_recv(memory, 64)
        end.accept()
        assert end.get_recv_comp().byte_len == 64
        assert memory.read(64, 0) == b'c' * 64
        memory.close()
        end.disconnect()
        end.close()
        listener.close()

    def active(pipe):
        pipe.recv()
        end = CMID(creator=AddrInfo(src='127.0.0.1', dst='127.0.0.1', dst_service='7471',
                                    port_space=ce.RDMA_PS_TCP), qp_init_attr=wishes())
        end.connect()
        memory = end.reg_msgs(64)
        memory.write('c' * 64, 64)
        end.post_send(memory, length=64)
        end.get_send_comp()
        memory.close()
        end.disconnect()
        end.close()

    two_processes(active, passive)


def what_is_absent():
    """Each is refused by an exception: EOPNOTSUPP."""
    assert [device.name for device in get_device_list()] == [b'soft0']
    end = End(shared=True)
    attempts = {
        'flow tags': lambda: CQEX(end.context, CqInitAttrEx(cqe=4, wc_flags=e.IBV_WC_EX_WITH_FLOW_TAG)),
        'raw packets': lambda: QP(end.pd, QPInitAttr(qp_type=e.IBV_QPT_RAW_PACKET, scq=end.cq, rcq=end.cq)),
    }
    for what, attempt in attempts.items():
        try:
            attempt()
        except PyverbsRDMAError as error:
            assert error.error_code == errno.EOPNOTSUPP, f'{what}: {error}'
        else:
            raise AssertionError(f'{what} is there')
    end.close()


if __name__ == '__main__':
    multiprocessing.set_start_method('fork')
    globals()[sys.argv[1]]()
