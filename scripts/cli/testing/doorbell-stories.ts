// SPDX-License-Identifier: Apache-2.0
/**
 * The stories of situations in which doorbells are lost or take the place of copies, word for word;
 * stories.ts has the others.
 */
export const doorbellStories: Readonly<Record<string, string>> = {
  'a lost doorbell, a sweep, lists': `sent by QP 2: SEND number 0, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0
  0000000000000000
received by QP 3: SEND number 0, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           doorbell for command 0
       0.010 us  QP 2 sends           the function begins to spill doorbells: 0 entries of its buffer are free
       0.020 us  QP 2 sends           a doorbell of the function was lost: all its send queues are searched (sweep)
       0.060 us  QP 2 sends           the function ends spilling: 4 entries of its buffer are free
       0.120 us  QP 2 sends           send queue enters the scheduler list of level 0
       0.190 us  QP 2 sends           a doorbell of the function was lost: all its send queues are searched (sweep)
       1.060 us  QP 2 sends           send queue leaves the scheduler list of level 0
       1.070 us  QP 2 sends           command 0 read from the send queue in guest memory (fetch)
       1.080 us  QP 2 sends           command 0 launched from lane 8
       1.090 us  QP 2 sends             SEND, signaled, solicited, fence
       1.100 us  QP 2 sends             SGE: 8 bytes at 0x12345fd580, L_Key 0x100
       1.120 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 0, 8 bytes
       1.150 us  QP 3 receives        receive WQE 0 taken
       1.160 us  QP 3 receives          SGE: 1024 bytes at 0x12345fd140, L_Key 0x100
       1.180 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
       1.190 us  QP 3 receives        message complete: all of it is in memory
       1.200 us  QP 3 receives        completion written to CQ 4
       1.210 us  QP 3 receives        event of CQ 4 written to EQ 1
       1.240 us  QP 3 receives        ACK up to PSN 0 sent
       1.250 us  QP 2 sends           ACK up to PSN 0 received
       1.270 us  QP 2 sends           command complete: acknowledged
       1.280 us  QP 2 sends           completion written to CQ 1
       1.290 us  QP 2 sends           no event: CQ 1 is not armed
       1.760 us  QP 3 receives        interrupt: MSI-X vector 5
1.270 us from the first of these to the end on QP 2
`,
  'copies that become doorbells': `sent by QP 2: SEND number 0, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0
  0000000000000000
received by QP 3: SEND number 0, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           the copy of command 0 found no PCB: a doorbell takes its place
       0.020 us  QP 2 sends           command 0 read from the send queue in guest memory (fetch)
       0.030 us  QP 2 sends           command 0 launched from lane 0
       0.040 us  QP 2 sends             SEND, signaled
       0.050 us  QP 2 sends             SGE: 8 bytes at 0x12345a7580, L_Key 0x100
       0.070 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 0, 8 bytes
       0.100 us  QP 3 receives        receive WQE 0 taken
       0.110 us  QP 3 receives          SGE: 1024 bytes at 0x12345a7140, L_Key 0x100
       0.130 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
       0.140 us  QP 3 receives        message complete: all of it is in memory
       0.150 us  QP 3 receives        completion written to CQ 4
       0.160 us  QP 3 receives        no event: CQ 4 is not armed
       0.170 us  QP 3 receives        ACK up to PSN 0 sent
       0.180 us  QP 2 sends           ACK up to PSN 0 received
       0.200 us  QP 2 sends           command complete: acknowledged
       0.210 us  QP 2 sends           completion written to CQ 1
       0.220 us  QP 2 sends           no event: CQ 1 is not armed
0.200 us from the first of these to the end on QP 2

sent by QP 2: SEND number 1, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 1 to 1
  0000000000000000
received by QP 3: SEND number 1, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 1 to 1
  0000000000000000
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 1 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           the copy of command 1 cannot be taken: a doorbell takes its place
       0.030 us  QP 2 sends           command 1 read from the send queue in guest memory (fetch)
       0.040 us  QP 2 sends           command 1 launched from lane 0
       0.050 us  QP 2 sends             SEND, signaled
       0.060 us  QP 2 sends             SGE: 8 bytes at 0x12345a7a40, L_Key 0x100
       0.080 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 1, 8 bytes
       0.110 us  QP 3 receives        receive WQE 1 taken
       0.120 us  QP 3 receives          SGE: 1024 bytes at 0x12345a7600, L_Key 0x100
       0.140 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 1, 8 bytes
       0.150 us  QP 3 receives        message complete: all of it is in memory
       0.160 us  QP 3 receives        completion written to CQ 4
       0.170 us  QP 3 receives        no event: CQ 4 is not armed
       0.180 us  QP 3 receives        ACK up to PSN 1 sent
       0.190 us  QP 2 sends           ACK up to PSN 1 received
       0.210 us  QP 2 sends           command complete: acknowledged
       0.220 us  QP 2 sends           completion written to CQ 1
       0.230 us  QP 2 sends           no event: CQ 1 is not armed
0.210 us from the first of these to the end on QP 2

sent by QP 2: SEND number 2, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 2 to 2
  0000000000000000
received by QP 3: SEND number 2, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 2 to 2
  0000000000000000
       0.000 us  QP 2 sends           software cancels its copy of command 2, which found no PCB
       0.020 us  QP 2 sends           doorbell for command 2
       0.030 us  QP 2 sends           command 2 read from the send queue in guest memory (fetch)
       0.040 us  QP 2 sends           command 2 launched from lane 0
       0.050 us  QP 2 sends             SEND, signaled
       0.060 us  QP 2 sends             SGE: 8 bytes at 0x12345a7f00, L_Key 0x100
       0.080 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 2, 8 bytes
       0.110 us  QP 3 receives        receive WQE 2 taken
       0.120 us  QP 3 receives          SGE: 1024 bytes at 0x12345a7ac0, L_Key 0x100
       0.140 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 2, 8 bytes
       0.150 us  QP 3 receives        message complete: all of it is in memory
       0.160 us  QP 3 receives        completion written to CQ 4
       0.170 us  QP 3 receives        no event: CQ 4 is not armed
       0.180 us  QP 3 receives        ACK up to PSN 2 sent
       0.190 us  QP 2 sends           ACK up to PSN 2 received
       0.210 us  QP 2 sends           command complete: acknowledged
       0.220 us  QP 2 sends           completion written to CQ 1
       0.230 us  QP 2 sends           no event: CQ 1 is not armed
0.210 us from the first of these to the end on QP 2
`,
};
