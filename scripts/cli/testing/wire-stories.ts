// SPDX-License-Identifier: Apache-2.0
/**
 * The stories of situations in which packets are lost, repeated or refused, word for word;
 * stories.ts has the others.
 */
export const wireStories: Readonly<Record<string, string>> = {
  'the receiver is not ready': `sent by QP 2: SEND number 0, 8 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0, 1 packet sent again
  0000000000000000
received by QP 3: SEND number 0, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             SEND, signaled
       0.040 us  QP 2 sends             SGE: 8 bytes at 0x123459f140, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_SEND_ONLY, PSN 0, 8 bytes
       0.090 us  QP 3 receives        no receive WQE for PSN 0
       0.100 us  QP 3 receives        RNR NAK of PSN 0 (wait 10.000 us) sent
       0.110 us  QP 2 sends           RNR NAK of PSN 0 (wait 10.000 us) received
       0.120 us  QP 2 sends           waits 10.000 us: the peer is not ready (RNR)
      10.150 us  QP 2 sends           packet sent again: RC_SEND_ONLY, PSN 0, 8 bytes
      10.170 us  QP 3 receives        receive WQE 0 taken
      10.180 us  QP 3 receives          SGE: 1024 bytes at 0x123459f1c0, L_Key 0x100
      10.200 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
      10.210 us  QP 3 receives        message complete: all of it is in memory
      10.220 us  QP 3 receives        completion written to CQ 4
      10.230 us  QP 3 receives        no event: CQ 4 is not armed
      10.240 us  QP 3 receives        ACK up to PSN 0 sent
      10.250 us  QP 2 sends           ACK up to PSN 0 received
      10.270 us  QP 2 sends           command complete: acknowledged
      10.280 us  QP 2 sends           completion written to CQ 1
      10.290 us  QP 2 sends           no event: CQ 1 is not armed
10.270 us from the first of these to the end on QP 2
`,
  'a lost packet, a timeout': `sent by QP 2: SEND number 0, 300 bytes in 2 packets, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 1, 2 packets sent again
  0000000000000000...
received by QP 3: SEND number 0, 300 bytes in 2 packets, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 1
  0000000000000000...
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             SEND, signaled
       0.040 us  QP 2 sends             SGE: 300 bytes at 0x123459f580, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_SEND_FIRST, PSN 0, 256 bytes
       0.080 us  QP 2 sends           packet sent: RC_SEND_LAST, PSN 1, 44 bytes
       0.100 us  QP 2 sends           packet lost: RC_SEND_LAST, PSN 1, the link drops it
       0.110 us  QP 3 receives        receive WQE 0 taken
       0.120 us  QP 3 receives          SGE: 1024 bytes at 0x123459f140, L_Key 0x100
       0.140 us  QP 3 receives        packet received: RC_SEND_FIRST, PSN 0, 256 bytes
       8.272 us  QP 2 sends           local ACK timeout: no answer to PSN 0
       8.282 us  QP 2 sends           sends again from PSN 0 on; 2 retries are left
       8.292 us  QP 2 sends           packet sent again: RC_SEND_FIRST, PSN 0, 256 bytes
       8.312 us  QP 2 sends           packet sent again: RC_SEND_LAST, PSN 1, 44 bytes
       8.332 us  QP 3 receives        packet received: RC_SEND_LAST, PSN 1, 44 bytes
       8.352 us  QP 3 receives        message complete: all of it is in memory
       8.362 us  QP 3 receives        completion written to CQ 4
       8.372 us  QP 3 receives        no event: CQ 4 is not armed
       8.382 us  QP 3 receives        ACK up to PSN 1 sent
       8.392 us  QP 2 sends           ACK up to PSN 1 received
       8.412 us  QP 2 sends           command complete: acknowledged
       8.422 us  QP 2 sends           completion written to CQ 1
       8.432 us  QP 2 sends           no event: CQ 1 is not armed
8.412 us from the first of these to the end on QP 2
`,
  'a lost packet, a NAK': `sent by QP 2: SEND number 0, 300 bytes in 2 packets, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 1, 2 packets sent again
  0000000000000000...
received by QP 3: SEND number 0, 300 bytes in 2 packets, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 1
  0000000000000000...
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.040 us  QP 2 sends           command 0 launched from lane 0
       0.050 us  QP 2 sends             SEND, signaled
       0.060 us  QP 2 sends             SGE: 300 bytes at 0x123459f9c0, L_Key 0x100
       0.120 us  QP 2 sends           packet sent: RC_SEND_FIRST, PSN 0, 256 bytes
       0.140 us  QP 2 sends           packet sent: RC_SEND_LAST, PSN 1, 44 bytes
       0.190 us  QP 2 sends           packet lost: RC_SEND_FIRST, PSN 0, the link drops it
       0.210 us  QP 3 receives        NAK of PSN 0 (PSN_SEQUENCE_ERROR) sent
       0.220 us  QP 2 sends           NAK of PSN 0 (PSN_SEQUENCE_ERROR) received
       0.230 us  QP 2 sends           sends again from PSN 0 on; 2 retries are left
       0.240 us  QP 2 sends           packet sent again: RC_SEND_FIRST, PSN 0, 256 bytes
       0.260 us  QP 2 sends           packet sent again: RC_SEND_LAST, PSN 1, 44 bytes
       0.300 us  QP 3 receives        receive WQE 0 taken
       0.310 us  QP 3 receives          SGE: 1024 bytes at 0x123459f140, L_Key 0x100
       0.330 us  QP 3 receives        packet received: RC_SEND_FIRST, PSN 0, 256 bytes
       0.340 us  QP 3 receives        packet received: RC_SEND_LAST, PSN 1, 44 bytes
       0.360 us  QP 3 receives        message complete: all of it is in memory
       0.370 us  QP 3 receives        completion written to CQ 4
       0.380 us  QP 3 receives        no event: CQ 4 is not armed
       0.460 us  QP 3 receives        ACK up to PSN 2 sent
       0.470 us  QP 2 sends           ACK up to PSN 2 received
       0.490 us  QP 2 sends           command complete: acknowledged
       0.500 us  QP 2 sends           completion written to CQ 1
       0.510 us  QP 2 sends           no event: CQ 1 is not armed
0.490 us from the first of these to the end on QP 2
`,
  'a wrong key': `sent by QP 2: RDMA_WRITE number 0, 8 bytes in 1 packet, REMOTE_ACCESS_ERROR
  to QP 3 at LID 2, port 1, PSN 0 to 0
  0000000000000000
received by QP 3: RDMA_WRITE number 0, refused with its first packet, REMOTE_ACCESS_ERROR
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             RDMA_WRITE, signaled, R_Key 0x255
       0.040 us  QP 2 sends             SGE: 8 bytes at 0x123459f140, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_RDMA_WRITE_ONLY, PSN 0, 8 bytes
       0.090 us  QP 3 receives        packet refused: RC_RDMA_WRITE_ONLY, PSN 0, KEY_INVALID
       0.110 us  QP 3 receives        it ends: REMOTE_ACCESS_ERROR
       0.160 us  QP 3 receives        NAK of PSN 0 (REMOTE_ACCESS_ERROR) sent
       0.170 us  QP 2 sends           NAK of PSN 0 (REMOTE_ACCESS_ERROR) received
       0.190 us  QP 2 sends           it ends: REMOTE_ACCESS_ERROR
       0.200 us  QP 2 sends           completion written to CQ 1
       0.210 us  QP 2 sends           event of CQ 1 written to EQ 1
       0.260 us  QP 2 sends           interrupt: MSI-X vector 5
0.190 us from the first of these to the end on QP 2
`,
  'two adapters, equal QPNs, a loss': `received by adapter1 QP 2: SEND number 0, 8 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 1, PSN 16777214 to 16777214
  0000000000000000
sent by adapter0 QP 2: SEND number 0, 8 bytes in 1 packet, SUCCESS
  to QP 2 at LID 3, port 1, PSN 16777214 to 16777214, 1 packet sent again
  0000000000000000
       0.000 us  adapter0 QP 2 sends    first store to VCB 0, which gets PCB 0
       0.010 us  adapter0 QP 2 sends    command 0 is whole in VCB 0 (the kick)
       0.040 us  adapter0 QP 2 sends    command 0 launched from lane 0
       0.050 us  adapter0 QP 2 sends      SEND, signaled
       0.060 us  adapter0 QP 2 sends      SGE: 8 bytes at 0x1234593140, L_Key 0x100
       0.150 us  adapter0 QP 2 sends    packet sent: RC_SEND_ONLY, PSN 16777214, 8 bytes
       0.190 us  adapter0 QP 2 sends    packet lost: RC_SEND_ONLY, PSN 16777214, the link drops it
       8.452 us  adapter0 QP 2 sends    local ACK timeout: no answer to PSN 16777214
       8.462 us  adapter0 QP 2 sends    sends again from PSN 16777214 on; 2 retries are left
       8.532 us  adapter0 QP 2 sends    packet sent again: RC_SEND_ONLY, PSN 16777214, 8 bytes
       8.552 us  adapter1 QP 2 receives receive WQE 0 taken
       8.562 us  adapter1 QP 2 receives   SGE: 64 bytes at 0x1234593140, L_Key 0x100
       8.582 us  adapter1 QP 2 receives packet received: RC_SEND_ONLY, PSN 16777214, 8 bytes
       8.592 us  adapter1 QP 2 receives message complete: all of it is in memory
       8.602 us  adapter1 QP 2 receives completion written to CQ 2
       8.612 us  adapter1 QP 2 receives no event: CQ 2 is not armed
       8.622 us  adapter1 QP 2 receives ACK up to PSN 16777214 sent
       8.632 us  adapter0 QP 2 sends    ACK up to PSN 16777214 received
       8.652 us  adapter0 QP 2 sends    command complete: acknowledged
       8.662 us  adapter0 QP 2 sends    completion written to CQ 1
       8.672 us  adapter0 QP 2 sends    no event: CQ 1 is not armed
8.592 us from the first of these to the end on QP 2
`,
};
