// SPDX-License-Identifier: Apache-2.0
/**
 * The stories of situations in which something waits, word for word; stories.ts has the others.
 */
export const waitStories: Readonly<Record<string, string>> = {
  'a page of the peer is not present': `sent by QP 2: RDMA_WRITE number 0, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0, 1 packet sent again
  0000000000000000
received by QP 3: RDMA_WRITE number 0, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             RDMA_WRITE, signaled, R_Key 0x300
       0.040 us  QP 2 sends             SGE: 8 bytes at 0x123459f1c0, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_RDMA_WRITE_ONLY, PSN 0, 8 bytes
       0.090 us  QP 3 receives        request with PSN 0 waits for the page of 0x7fff12345000 in region 3
       0.100 us  QP 3 receives        page fault of region 3: 0x7fff12345000 is to be written
       0.130 us  QP 3 receives        RNR NAK of PSN 0 (wait 10.000 us) sent
       0.140 us  QP 2 sends           RNR NAK of PSN 0 (wait 10.000 us) received
       0.150 us  QP 2 sends           waits 10.000 us: the peer is not ready (RNR)
       0.180 us  QP 3 receives        request with PSN 0 waits no longer: software has answered for the page in region 3
      10.180 us  QP 2 sends           packet sent again: RC_RDMA_WRITE_ONLY, PSN 0, 8 bytes
      10.210 us  QP 3 receives        packet received: RC_RDMA_WRITE_ONLY, PSN 0, 8 bytes
      10.220 us  QP 3 receives        message complete: all of it is in memory
      10.230 us  QP 3 receives        ACK up to PSN 0 sent
      10.240 us  QP 2 sends           ACK up to PSN 0 received
      10.260 us  QP 2 sends           command complete: acknowledged
      10.270 us  QP 2 sends           completion written to CQ 1
      10.280 us  QP 2 sends           no event: CQ 1 is not armed
10.260 us from the first of these to the end on QP 2
`,
  'a page of the reader is not present': `sent by QP 2: RDMA_READ number 0, 8 bytes, request in 1 packet, answer in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0, 1 packet sent again
  0000000000000000
received by QP 3: RDMA_READ number 0, 8 bytes, request in 1 packet, answer in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             RDMA_READ, signaled, R_Key 0x200
       0.040 us  QP 2 sends             SGE: 8 bytes at 0x7fff12345000, L_Key 0x300
       0.060 us  QP 2 sends           packet sent: RC_RDMA_READ_REQUEST, PSN 0, 0 bytes
       0.100 us  QP 3 receives        packet received: RC_RDMA_READ_REQUEST, PSN 0, 0 bytes
       0.110 us  QP 3 receives        packet sent: RC_RDMA_READ_RESPONSE_ONLY, PSN 0, 8 bytes
       0.140 us  QP 3 receives        all of the answer is sent
       0.150 us  QP 2 sends           packet received: RC_RDMA_READ_RESPONSE_ONLY, PSN 0, 8 bytes
       0.170 us  QP 2 sends           response with PSN 0 waits for the page of 0x7fff12345000 in region 3
       0.180 us  QP 2 sends           page fault of region 3: 0x7fff12345000 is to be written
       0.230 us  QP 2 sends           response with PSN 0 waits no longer: software has answered for the page in region 3
       0.260 us  QP 2 sends           packet sent again: RC_RDMA_READ_REQUEST, PSN 0, 0 bytes
       0.280 us  QP 2 sends           packet received: RC_RDMA_READ_RESPONSE_ONLY, PSN 0, 8 bytes
       0.300 us  QP 2 sends           command complete: all of the answer is in memory
       0.310 us  QP 2 sends           completion written to CQ 1
       0.320 us  QP 2 sends           no event: CQ 1 is not armed
0.300 us from the first of these to the end on QP 2
`,
  'a moderation time passes': `sent by QP 2: NOP number 0, 0 bytes in 0 packets, SUCCESS
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             NOP, signaled
       0.060 us  QP 2 sends           command complete: it sends nothing
       0.070 us  QP 2 sends           completion written to CQ 1
       0.080 us  QP 2 sends           no event yet: moderation of CQ 1 lets its event wait
      20.110 us  QP 2 sends           event of CQ 1 written to EQ 1, when its moderation time had passed
      20.130 us  QP 2 sends           interrupt: MSI-X vector 5
0.060 us from the first of these to the end on QP 2
no packet of it was sent: there is no other side
`,
  'software clears a pending event': `sent by QP 2: NOP number 0, 0 bytes in 0 packets, SUCCESS
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 1 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 1 launched from lane 0
       0.030 us  QP 2 sends             NOP, signaled
       0.060 us  QP 2 sends           command complete: it sends nothing
       0.070 us  QP 2 sends           completion written to CQ 1
       0.080 us  QP 2 sends           no event yet: an earlier event of CQ 1 is pending
       0.220 us  QP 2 sends           event of CQ 1 written to EQ 1, when software cleared EQ pending of the CQ
       0.240 us  QP 2 sends           interrupt: MSI-X vector 5
0.060 us from the first of these to the end on QP 2
no packet of it was sent: there is no other side
`,
  'no end-to-end credit, and one READ at a time': `sent by QP 2: SEND number 2, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 2 to 2
  0000000000000000
received by QP 3: SEND number 2, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 2 to 2
  0000000000000000
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 1
       0.010 us  QP 2 sends           command 2 is whole in VCB 0 (the kick)
       0.060 us  QP 2 sends           command 2 launched from lane 0
       0.130 us  QP 2 sends           command 2 waits: the peer has granted no end-to-end credit
       0.140 us  QP 2 sends           commands from 2 on return to the send queue
      10.210 us  QP 2 sends           send queue enters the scheduler list of level 0
      10.220 us  QP 2 sends           send queue leaves the scheduler list of level 0
      10.230 us  QP 2 sends           command 2 read from the send queue in guest memory (fetch)
      10.260 us  QP 2 sends           command 2 launched from lane 0
      10.300 us  QP 2 sends           command 2 waits: the peer has granted no end-to-end credit
      10.310 us  QP 2 sends           commands from 2 on return to the send queue
      10.480 us  QP 2 sends           send queue enters the scheduler list of level 0
      10.490 us  QP 2 sends           send queue leaves the scheduler list of level 0
      10.500 us  QP 2 sends           command 2 read from the send queue in guest memory (fetch)
      10.510 us  QP 2 sends           command 2 launched from lane 0
      10.520 us  QP 2 sends             SEND, signaled
      10.530 us  QP 2 sends             SGE: 8 bytes at 0x123459f2c0, L_Key 0x100
      10.550 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 2, 8 bytes
      10.580 us  QP 3 receives        receive WQE 2 taken
      10.590 us  QP 3 receives          SGE: 64 bytes at 0x123459f3c0, L_Key 0x100
      10.610 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 2, 8 bytes
      10.620 us  QP 3 receives        message complete: all of it is in memory
      10.630 us  QP 3 receives        completion written to CQ 4
      10.640 us  QP 3 receives        no event: CQ 4 is not armed
      10.650 us  QP 3 receives        ACK up to PSN 2 sent
      10.660 us  QP 2 sends           ACK up to PSN 2 received
      10.680 us  QP 2 sends           command complete: acknowledged
      10.690 us  QP 2 sends           completion written to CQ 1
      10.700 us  QP 2 sends           no event: CQ 1 is not armed
10.680 us from the first of these to the end on QP 2

sent by QP 2: RDMA_READ number 4, 600 bytes, request in 1 packet, answer in 3 packets, SUCCESS
  to QP 3 at LID 2, port 1, PSN 6 to 8
  0000000000000000...
received by QP 3: RDMA_READ number 4, 600 bytes, request in 1 packet, answer in 3 packets, SUCCESS
  from QP 2 at LID 1, port 2, PSN 6 to 8
  0000000000000000...
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 4 is whole in VCB 0 (the kick)
       0.060 us  QP 2 sends           command 4 launched from lane 0
       0.130 us  QP 2 sends           command 4 waits: as many READs and atomics are not answered as the QP may have
       0.140 us  QP 2 sends           commands from 4 on return to the send queue
       0.270 us  QP 2 sends           send queue enters the scheduler list of level 0
       0.350 us  QP 2 sends           send queue leaves the scheduler list of level 0
       0.360 us  QP 2 sends           command 4 read from the send queue in guest memory (fetch)
       0.370 us  QP 2 sends           command 4 launched from lane 0
       0.380 us  QP 2 sends             RDMA_READ, signaled, R_Key 0x200
       0.390 us  QP 2 sends             SGE: 600 bytes at 0x123459f9c0, L_Key 0x100
       0.410 us  QP 2 sends           packet sent: RC_RDMA_READ_REQUEST, PSN 6, 0 bytes
       0.450 us  QP 3 receives        packet received: RC_RDMA_READ_REQUEST, PSN 6, 0 bytes
       0.460 us  QP 3 receives        packet sent: RC_RDMA_READ_RESPONSE_FIRST, PSN 6, 256 bytes
       0.480 us  QP 3 receives        packet sent: RC_RDMA_READ_RESPONSE_MIDDLE, PSN 7, 256 bytes
       0.490 us  QP 3 receives        packet sent: RC_RDMA_READ_RESPONSE_LAST, PSN 8, 88 bytes
       0.510 us  QP 3 receives        all of the answer is sent
       0.520 us  QP 2 sends           packet received: RC_RDMA_READ_RESPONSE_FIRST, PSN 6, 256 bytes
       0.540 us  QP 2 sends           packet received: RC_RDMA_READ_RESPONSE_MIDDLE, PSN 7, 256 bytes
       0.550 us  QP 2 sends           packet received: RC_RDMA_READ_RESPONSE_LAST, PSN 8, 88 bytes
       0.570 us  QP 2 sends           command complete: all of the answer is in memory
       0.580 us  QP 2 sends           completion written to CQ 1
       0.590 us  QP 2 sends           no event: CQ 1 is not armed
0.570 us from the first of these to the end on QP 2
`,
  'a lane without credits': `sent by QP 2: SEND number 5, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 5 to 5
  0000000000000000
received by QP 3: SEND number 5, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 5 to 5
  0000000000000000
       0.000 us  QP 2 sends           doorbell for command 5
       0.060 us  QP 2 sends           command 5 read from the send queue in guest memory (fetch)
       0.240 us  QP 2 sends           command 5 waits in lane 0, which lacks a completion credit
      17.034 us  QP 2 sends           command 5 launched from lane 0
      17.044 us  QP 2 sends             SEND, signaled
      17.054 us  QP 2 sends             SGE: 8 bytes at 0x12345a0d40, L_Key 0x100
      17.104 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 5, 8 bytes
      17.204 us  QP 3 receives        receive WQE 5 taken
      17.214 us  QP 3 receives          SGE: 1024 bytes at 0x12345a0900, L_Key 0x100
      17.234 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 5, 8 bytes
      17.244 us  QP 3 receives        message complete: all of it is in memory
      17.254 us  QP 3 receives        completion written to CQ 4
      17.264 us  QP 3 receives        no event: CQ 4 is not armed
      17.274 us  QP 3 receives        ACK up to PSN 5 sent
      17.284 us  QP 2 sends           ACK up to PSN 5 received
      17.354 us  QP 2 sends           command complete: acknowledged
      17.364 us  QP 2 sends           completion written to CQ 1
      17.374 us  QP 2 sends           no event: CQ 1 is not armed
17.354 us from the first of these to the end on QP 2
`,
};
