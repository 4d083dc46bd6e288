// SPDX-License-Identifier: Apache-2.0
/**
 * The stories of the scripted situations, word for word. Each was compared with what the situation
 * does; trace-stories.test.ts compares what `vuhca trace show` tells now.
 */
import { doorbellStories } from './doorbell-stories.ts';
import { eventStories } from './event-stories.ts';
import { outcomeStories } from './outcome-stories.ts';
import { waitStories } from './wait-stories.ts';
import { wireStories } from './wire-stories.ts';

export const stories: Readonly<Record<string, string>> = {
  ...wireStories,
  ...waitStories,
  ...outcomeStories,
  ...eventStories,
  ...doorbellStories,
  'three event queues, three vectors': `sent by QP 4: SEND number 0, 8 bytes in 1 packet, SUCCESS
  to QP 5 at LID 2, port 1, PSN 0 to 0
  0000000000000000
received by QP 5: SEND number 0, 8 bytes in 1 packet, SUCCESS
  from QP 4 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 4 sends           first store to VCB 2, which gets PCB 1
       0.010 us  QP 4 sends           command 0 is whole in VCB 2 (the kick)
       0.140 us  QP 4 sends           command 0 launched from lane 1
       0.150 us  QP 4 sends             SEND, signaled
       0.160 us  QP 4 sends             SGE: 8 bytes at 0x12345bf1c0, L_Key 0x100
       0.270 us  QP 4 sends           packet sent: RC_SEND_ONLY, PSN 0, 8 bytes
       0.300 us  QP 5 receives        receive WQE 0 taken
       0.310 us  QP 5 receives          SGE: 64 bytes at 0x12345bf140, L_Key 0x100
       0.330 us  QP 5 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
       0.340 us  QP 5 receives        message complete: all of it is in memory
       0.350 us  QP 5 receives        completion written to CQ 8
       0.360 us  QP 5 receives        event of CQ 8 written to EQ 4
       0.380 us  QP 5 receives        ACK up to PSN 0 sent
       0.390 us  QP 4 sends           ACK up to PSN 0 received
       0.410 us  QP 4 sends           command complete: acknowledged
       0.420 us  QP 4 sends           completion written to CQ 5
       0.430 us  QP 4 sends           event of CQ 5 written to EQ 3
       0.470 us  QP 4 sends           interrupt: MSI-X vector 6
       0.480 us  QP 5 receives        interrupt: MSI-X vector 7
0.410 us from the first of these to the end on QP 4
`,
  'by doorbell, unsignaled': `sent by QP 2: SEND number 0, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0
  0000000000000000
received by QP 3: SEND number 0, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           doorbell for command 0
       0.010 us  QP 2 sends           command 0 read from the send queue in guest memory (fetch)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             SEND
       0.040 us  QP 2 sends             SGE: 8 bytes at 0x123459f580, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 0, 8 bytes
       0.090 us  QP 3 receives        receive WQE 0 taken
       0.100 us  QP 3 receives          SGE: 1024 bytes at 0x123459f140, L_Key 0x100
       0.120 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
       0.130 us  QP 3 receives        message complete: all of it is in memory
       0.140 us  QP 3 receives        completion written to CQ 4
       0.150 us  QP 3 receives        no event: CQ 4 is not armed
       0.160 us  QP 3 receives        ACK up to PSN 0 sent
       0.170 us  QP 2 sends           ACK up to PSN 0 received
       0.180 us  QP 2 sends           no completion: the command asked for none (unsignaled)
       0.190 us  QP 2 sends           command complete: acknowledged
0.190 us from the first of these to the end on QP 2
`,
  'an event at the arming': `sent by QP 2: SEND number 0, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0
  0000000000000000
received by QP 3: SEND number 0, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             SEND, signaled
       0.040 us  QP 2 sends             SGE: 8 bytes at 0x123459f580, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 0, 8 bytes
       0.090 us  QP 3 receives        receive WQE 0 taken
       0.100 us  QP 3 receives          SGE: 1024 bytes at 0x123459f140, L_Key 0x100
       0.120 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
       0.130 us  QP 3 receives        message complete: all of it is in memory
       0.140 us  QP 3 receives        completion written to CQ 4
       0.150 us  QP 3 receives        no event: CQ 4 is not armed
       0.160 us  QP 3 receives        ACK up to PSN 0 sent
       0.170 us  QP 2 sends           ACK up to PSN 0 received
       0.190 us  QP 2 sends           command complete: acknowledged
       0.200 us  QP 2 sends           completion written to CQ 1
       0.210 us  QP 2 sends           no event yet: CQ 1 is not armed
       0.240 us  QP 2 sends           event of CQ 1 written to EQ 1, when software armed the CQ
       0.260 us  QP 2 sends           interrupt: MSI-X vector 5
0.190 us from the first of these to the end on QP 2
`,
  'an event is pending': `sent by QP 2: SEND number 1, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 1 to 1
  0000000000000000
received by QP 3: SEND number 1, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 1 to 1
  0000000000000000
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 1 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 1 launched from lane 0
       0.030 us  QP 2 sends             SEND, signaled
       0.040 us  QP 2 sends             SGE: 8 bytes at 0x123459fa40, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 1, 8 bytes
       0.090 us  QP 3 receives        receive WQE 1 taken
       0.100 us  QP 3 receives          SGE: 1024 bytes at 0x123459f600, L_Key 0x100
       0.120 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 1, 8 bytes
       0.130 us  QP 3 receives        message complete: all of it is in memory
       0.140 us  QP 3 receives        completion written to CQ 4
       0.150 us  QP 3 receives        no event: CQ 4 is not armed
       0.160 us  QP 3 receives        ACK up to PSN 1 sent
       0.170 us  QP 2 sends           ACK up to PSN 1 received
       0.190 us  QP 2 sends           command complete: acknowledged
       0.200 us  QP 2 sends           completion written to CQ 1
       0.210 us  QP 2 sends           no event: an earlier event of CQ 1 is pending
       0.230 us  QP 2 sends           software arms CQ 1; it has taken the completion by now
0.190 us from the first of these to the end on QP 2
`,
  'summary bytes, before the time stamp': `sent by QP 4: NOP number 0, 0 bytes in 0 packets, SUCCESS
       0.000 us  QP 4 sends           first store to VCB 2, which gets PCB 0
       0.010 us  QP 4 sends           command 0 is whole in VCB 2 (the kick)
       0.020 us  QP 4 sends           command 0 launched from lane 0
       0.030 us  QP 4 sends             NOP, signaled
       0.070 us  QP 4 sends           command complete: it sends nothing
       0.080 us  QP 4 sends           completion written to CQ 5
       0.090 us  QP 4 sends           event of CQ 5 written to EQ 3
       0.100 us  QP 4 sends           secondary summary byte 1 of EQ 3 set
       0.110 us  QP 4 sends           primary summary byte of EQ 3 set
       0.140 us  QP 4 sends           interrupt: MSI-X vector 7
0.070 us from the first of these to the end on QP 4
no packet of it was sent: there is no other side

sent by QP 5: NOP number 0, 0 bytes in 0 packets, SUCCESS
       0.000 us  QP 5 sends           first store to VCB 3, which gets PCB 0
       0.010 us  QP 5 sends           command 0 is whole in VCB 3 (the kick)
       0.020 us  QP 5 sends           command 0 launched from lane 1
       0.030 us  QP 5 sends             NOP, signaled
       0.070 us  QP 5 sends           command complete: it sends nothing
       0.080 us  QP 5 sends           completion written to CQ 6
       0.090 us  QP 5 sends           event of CQ 6 written to EQ 3
       0.100 us  QP 5 sends           secondary summary byte 2 of EQ 3 set
       0.110 us  QP 5 sends           no interrupt: EQ 3 holds events, and its time stamp lies ahead
0.070 us from the first of these to the end on QP 5
no packet of it was sent: there is no other side
`,
  'a READ, the vector is masked, one side': `sent by QP 2: RDMA_READ number 0, 300 bytes, request in 1 packet, answer in 2 packets, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 1
  0000000000000000...
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             RDMA_READ, signaled, R_Key 0x200
       0.040 us  QP 2 sends             SGE: 300 bytes at 0x123459f140, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_RDMA_READ_REQUEST, PSN 0, 0 bytes
       0.090 us  QP 2 sends           packet received: RC_RDMA_READ_RESPONSE_FIRST, PSN 0, 256 bytes
       0.110 us  QP 2 sends           packet received: RC_RDMA_READ_RESPONSE_LAST, PSN 1, 44 bytes
       0.130 us  QP 2 sends           command complete: all of the answer is in memory
       0.140 us  QP 2 sends           completion written to CQ 1
       0.150 us  QP 2 sends           event of CQ 1 written to EQ 1
       0.180 us  QP 2 sends           vector 5 is pending: it is masked, or MSI-X is disabled
0.130 us from the first of these to the end on QP 2
the other side is not traced: \`vuhca trace on --adapter adapter0 --qp 3\` adds it to later messages
`,
  'a datagram, software polls': `sent by QP 4: SEND number 0, 3 bytes in 1 packet, SUCCESS
  to QP 5 at LID 2, port 1, PSN 0 to 0
  010203
received by QP 5: SEND number 0, 3 bytes in 1 packet, SUCCESS
  from QP 4 at LID 1, port 2, PSN 0 to 0
  010203
       0.000 us  QP 4 sends           first store to VCB 2, which gets PCB 0
       0.010 us  QP 4 sends           command 0 is whole in VCB 2 (the kick)
       0.020 us  QP 4 sends           command 0 launched from lane 0
       0.030 us  QP 4 sends             SEND, signaled, inline
       0.050 us  QP 4 sends           packet sent: UD_SEND_ONLY, PSN 0, 3 bytes
       0.080 us  QP 4 sends           command complete: all of it is sent
       0.090 us  QP 4 sends           completion written to CQ 5
       0.100 us  QP 4 sends           event of CQ 5 written to EQ 3
       0.110 us  QP 4 sends           secondary summary byte 0 of EQ 3 set
       0.120 us  QP 4 sends           primary summary byte of EQ 3 set
       0.130 us  QP 4 sends           no interrupt: the delay of EQ 3 says that software polls
       0.150 us  QP 5 receives        receive WQE 0 taken
       0.160 us  QP 5 receives          SGE: 64 bytes at 0x12345b1140, L_Key 0x100
       0.180 us  QP 5 receives        packet received: UD_SEND_ONLY, PSN 0, 3 bytes
       0.190 us  QP 5 receives        message complete: all of it is in memory
       0.200 us  QP 5 receives        completion written to CQ 6
       0.210 us  QP 5 receives        no event: CQ 6 is not armed
0.080 us from the first of these to the end on QP 4
`,
  'a share that changes, a spilled doorbell': `sent by QP 2: SEND number 0, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0
  0000000000000000
received by QP 3: SEND number 0, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           doorbell for command 0
       0.010 us  QP 2 sends           share of the function changes: 200 PCBs
       0.020 us  QP 2 sends           share of the function changes: 40 scheduler buffers
       0.030 us  QP 2 sends           share of the function changes: 0 lanes
       0.040 us  QP 2 sends           share of the function changes: 10 lanes
       0.050 us  QP 2 sends           share of level 1 of the function changes: 4 lanes
       0.080 us  QP 2 sends           the function begins to spill doorbells: 6 entries of its buffer are free
       0.090 us  QP 2 sends           doorbell spilled to the overflow buffer in guest memory
       0.100 us  QP 2 sends           the function ends spilling: 8 entries of its buffer are free
       0.130 us  QP 2 sends           doorbell read back (drain)
       0.140 us  QP 2 sends           command 0 read from the send queue in guest memory (fetch)
       0.330 us  QP 2 sends           command 0 launched from lane 2
       0.340 us  QP 2 sends             SEND, signaled
       0.350 us  QP 2 sends             SGE: 8 bytes at 0x12345af580, L_Key 0x100
       0.370 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 0, 8 bytes
       0.400 us  QP 3 receives        receive WQE 0 taken
       0.410 us  QP 3 receives          SGE: 1024 bytes at 0x12345af140, L_Key 0x100
       0.430 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
       0.440 us  QP 3 receives        message complete: all of it is in memory
       0.450 us  QP 3 receives        completion written to CQ 4
       0.460 us  QP 3 receives        no event: CQ 4 is not armed
       0.470 us  QP 3 receives        ACK up to PSN 0 sent
       0.480 us  QP 2 sends           ACK up to PSN 0 received
       0.500 us  QP 2 sends           command complete: acknowledged
       0.510 us  QP 2 sends           completion written to CQ 1
       0.520 us  QP 2 sends           no event: CQ 1 is not armed
0.500 us from the first of these to the end on QP 2
`,
  'a cancelled copy': `sent by QP 2: SEND number 0, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0
  0000000000000000
received by QP 3: SEND number 0, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           software cancels its copy of command 0, in VCB 0
       0.020 us  QP 2 sends           doorbell for command 0
       0.030 us  QP 2 sends           command 0 read from the send queue in guest memory (fetch)
       0.040 us  QP 2 sends           command 0 launched from lane 0
       0.050 us  QP 2 sends             SEND, signaled
       0.060 us  QP 2 sends             SGE: 8 bytes at 0x123459f580, L_Key 0x100
       0.080 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 0, 8 bytes
       0.110 us  QP 3 receives        receive WQE 0 taken
       0.120 us  QP 3 receives          SGE: 1024 bytes at 0x123459f140, L_Key 0x100
       0.140 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
       0.150 us  QP 3 receives        message complete: all of it is in memory
       0.160 us  QP 3 receives        completion written to CQ 4
       0.170 us  QP 3 receives        no event: CQ 4 is not armed
       0.180 us  QP 3 receives        ACK up to PSN 0 sent
       0.190 us  QP 2 sends           ACK up to PSN 0 received
       0.210 us  QP 2 sends           command complete: acknowledged
       0.220 us  QP 2 sends           completion written to CQ 1
       0.230 us  QP 2 sends           no event: CQ 1 is not armed
0.210 us from the first of these to the end on QP 2
`,
  'a lane that changes': `sent by QP 2: SEND number 0, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0
  0000000000000000
received by QP 3: SEND number 0, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           doorbell for command 0
       0.020 us  QP 2 sends           lane 0 changes: 4 execution credits of its own
       0.030 us  QP 2 sends           lane 0 changes: 2 completion credits of its own
       0.040 us  QP 2 sends           lane 0 changes: takes no shared credits
       0.050 us  QP 2 sends           lane 0 changes: weight 3
       0.060 us  QP 2 sends           lane 0 changes: takes shared credits of both kinds
       0.070 us  QP 2 sends           lane 0 changes: room for 5 commands
       0.080 us  QP 2 sends           command 0 read from the send queue in guest memory (fetch)
       0.090 us  QP 2 sends           command 0 launched from lane 0
       0.100 us  QP 2 sends             SEND, signaled
       0.110 us  QP 2 sends             SGE: 8 bytes at 0x123459f580, L_Key 0x100
       0.130 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 0, 8 bytes
       0.160 us  QP 3 receives        receive WQE 0 taken
       0.170 us  QP 3 receives          SGE: 1024 bytes at 0x123459f140, L_Key 0x100
       0.190 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
       0.200 us  QP 3 receives        message complete: all of it is in memory
       0.210 us  QP 3 receives        completion written to CQ 4
       0.220 us  QP 3 receives        no event: CQ 4 is not armed
       0.230 us  QP 3 receives        ACK up to PSN 0 sent
       0.240 us  QP 2 sends           ACK up to PSN 0 received
       0.260 us  QP 2 sends           command complete: acknowledged
       0.270 us  QP 2 sends           completion written to CQ 1
       0.280 us  QP 2 sends           no event: CQ 1 is not armed
0.260 us from the first of these to the end on QP 2
`,
};
