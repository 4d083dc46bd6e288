// SPDX-License-Identifier: Apache-2.0
/**
 * The stories of the scripted situations, word for word. Each was compared with what the situation
 * does; trace-stories.test.ts compares what `vuhca trace show` tells now.
 */
export const stories: Readonly<Record<string, string>> = {
  'three event queues, three vectors': `sent by QP 4: SEND number 0, 8 bytes in 1 packet, SUCCESS
  to QP 5 at LID 2, port 1, PSN 0 to 0
  0000000000000000
received by QP 5: SEND number 0, 8 bytes in 1 packet, SUCCESS
  from QP 4 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 4 sends           first store to VCB 2, which gets PCB 1
       0.010 us  QP 4 sends           command 0 is whole in VCB 2 (the kick)
       0.130 us  QP 4 sends           command 0 launched from lane 1
       0.140 us  QP 4 sends             SEND, signaled
       0.150 us  QP 4 sends             SGE: 8 bytes at 0x12345bf1c0, L_Key 0x100
       0.250 us  QP 4 sends           packet sent: RC_SEND_ONLY, PSN 0, 8 bytes
       0.270 us  QP 5 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
       0.270 us  QP 5 receives        message complete: all of it is in memory
       0.280 us  QP 5 receives        completion written to CQ 8
       0.290 us  QP 5 receives        event of CQ 8 written to EQ 4
       0.310 us  QP 5 receives        ACK up to PSN 0 sent
       0.320 us  QP 4 sends           ACK up to PSN 0 received
       0.330 us  QP 4 sends           command complete: acknowledged
       0.340 us  QP 4 sends           completion written to CQ 5
       0.350 us  QP 4 sends           event of CQ 5 written to EQ 3
       0.390 us  QP 4 sends           interrupt: MSI-X vector 6
       0.400 us  QP 5 receives        interrupt: MSI-X vector 7
0.330 us from the first of these to the end on QP 4
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
       0.080 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
       0.080 us  QP 3 receives        message complete: all of it is in memory
       0.090 us  QP 3 receives        completion written to CQ 4
       0.100 us  QP 3 receives        no event: CQ 4 is not armed
       0.110 us  QP 3 receives        ACK up to PSN 0 sent
       0.120 us  QP 2 sends           ACK up to PSN 0 received
       0.130 us  QP 2 sends           command complete: acknowledged
       0.130 us  QP 2 sends           no completion: the command asked for none (unsignaled)
0.130 us from the first of these to the end on QP 2
`,
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
       0.080 us  QP 3 receives        RNR NAK of PSN 0 (wait 10.000 us) sent
       0.090 us  QP 2 sends           RNR NAK of PSN 0 (wait 10.000 us) received
       0.100 us  QP 2 sends           waits 10.000 us for a receive WQE of the peer (RNR)
      10.130 us  QP 2 sends           packet sent again: PSN 0
      10.140 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
      10.140 us  QP 3 receives        message complete: all of it is in memory
      10.150 us  QP 3 receives        completion written to CQ 4
      10.160 us  QP 3 receives        no event: CQ 4 is not armed
      10.170 us  QP 3 receives        ACK up to PSN 0 sent
      10.180 us  QP 2 sends           ACK up to PSN 0 received
      10.190 us  QP 2 sends           command complete: acknowledged
      10.200 us  QP 2 sends           completion written to CQ 1
      10.210 us  QP 2 sends           no event: CQ 1 is not armed
10.190 us from the first of these to the end on QP 2
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
       0.060 us  QP 2 sends           packet sent: RC_SEND_FIRST, PSN 0, 256 bytes; 1 more packet
       0.080 us  QP 3 receives        packet received: RC_SEND_FIRST, PSN 0, 256 bytes; 1 more packet
       8.262 us  QP 2 sends           local ACK timeout: no answer to PSN 0
       8.272 us  QP 2 sends           sends again from PSN 0 on; 2 retries are left
       8.282 us  QP 2 sends           packet sent again: PSN 0
       8.292 us  QP 2 sends           packet sent again: PSN 1
       8.302 us  QP 3 receives        message complete: all of it is in memory
       8.312 us  QP 3 receives        completion written to CQ 4
       8.322 us  QP 3 receives        no event: CQ 4 is not armed
       8.332 us  QP 3 receives        ACK up to PSN 1 sent
       8.342 us  QP 2 sends           ACK up to PSN 1 received
       8.352 us  QP 2 sends           command complete: acknowledged
       8.362 us  QP 2 sends           completion written to CQ 1
       8.372 us  QP 2 sends           no event: CQ 1 is not armed
8.352 us from the first of these to the end on QP 2
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
       0.120 us  QP 2 sends           packet sent: RC_SEND_FIRST, PSN 0, 256 bytes; 1 more packet
       0.160 us  QP 3 receives        NAK of PSN 0 (PSN_SEQUENCE_ERROR) sent
       0.170 us  QP 2 sends           NAK of PSN 0 (PSN_SEQUENCE_ERROR) received
       0.180 us  QP 2 sends           sends again from PSN 0 on; 2 retries are left
       0.190 us  QP 2 sends           packet sent again: PSN 0
       0.200 us  QP 2 sends           packet sent again: PSN 1
       0.220 us  QP 3 receives        packet received: RC_SEND_FIRST, PSN 0, 256 bytes; 1 more packet
       0.230 us  QP 3 receives        message complete: all of it is in memory
       0.240 us  QP 3 receives        completion written to CQ 4
       0.250 us  QP 3 receives        no event: CQ 4 is not armed
       0.290 us  QP 3 receives        ACK up to PSN 2 sent
       0.300 us  QP 2 sends           ACK up to PSN 2 received
       0.310 us  QP 2 sends           command complete: acknowledged
       0.320 us  QP 2 sends           completion written to CQ 1
       0.330 us  QP 2 sends           no event: CQ 1 is not armed
0.310 us from the first of these to the end on QP 2
`,
  'a wrong key': `sent by QP 2: RDMA_WRITE number 0, 8 bytes in 1 packet, REMOTE_ACCESS_ERROR
  to QP 3 at LID 2, port 1, PSN 0 to 0
  0000000000000000
received by QP 3: RDMA_WRITE number 0, 8 bytes in 0 packets, REMOTE_ACCESS_ERROR
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             RDMA_WRITE, signaled, R_Key 0x255
       0.040 us  QP 2 sends             SGE: 8 bytes at 0x123459f140, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_RDMA_WRITE_ONLY, PSN 0, 8 bytes
       0.080 us  QP 3 receives        packet received: RC_RDMA_WRITE_ONLY, PSN 0, 8 bytes
       0.080 us  QP 3 receives        it ends: REMOTE_ACCESS_ERROR
       0.130 us  QP 3 receives        NAK of PSN 0 (REMOTE_ACCESS_ERROR) sent
       0.140 us  QP 2 sends           NAK of PSN 0 (REMOTE_ACCESS_ERROR) received
       0.150 us  QP 2 sends           it ends: REMOTE_ACCESS_ERROR
       0.160 us  QP 2 sends           completion written to CQ 1
       0.170 us  QP 2 sends           event of CQ 1 written to EQ 1
       0.220 us  QP 2 sends           interrupt: MSI-X vector 5
0.150 us from the first of these to the end on QP 2
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
       0.080 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 0, 8 bytes
       0.080 us  QP 3 receives        message complete: all of it is in memory
       0.090 us  QP 3 receives        completion written to CQ 4
       0.100 us  QP 3 receives        no event: CQ 4 is not armed
       0.110 us  QP 3 receives        ACK up to PSN 0 sent
       0.120 us  QP 2 sends           ACK up to PSN 0 received
       0.130 us  QP 2 sends           command complete: acknowledged
       0.140 us  QP 2 sends           completion written to CQ 1
       0.150 us  QP 2 sends           no event yet: CQ 1 is not armed
       0.180 us  QP 2 sends           event of CQ 1 written to EQ 1, when software armed the CQ
       0.200 us  QP 2 sends           interrupt: MSI-X vector 5
0.130 us from the first of these to the end on QP 2
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
       0.080 us  QP 3 receives        packet received: RC_SEND_ONLY, PSN 1, 8 bytes
       0.080 us  QP 3 receives        message complete: all of it is in memory
       0.090 us  QP 3 receives        completion written to CQ 4
       0.100 us  QP 3 receives        no event: CQ 4 is not armed
       0.110 us  QP 3 receives        ACK up to PSN 1 sent
       0.120 us  QP 2 sends           ACK up to PSN 1 received
       0.130 us  QP 2 sends           command complete: acknowledged
       0.140 us  QP 2 sends           completion written to CQ 1
       0.150 us  QP 2 sends           no event: an earlier event of CQ 1 is pending
       0.170 us  QP 2 sends           software arms CQ 1; it has taken the completion by now
0.130 us from the first of these to the end on QP 2
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
       0.140 us  adapter0 QP 2 sends    packet sent: RC_SEND_ONLY, PSN 16777214, 8 bytes
       8.352 us  adapter0 QP 2 sends    local ACK timeout: no answer to PSN 16777214
       8.362 us  adapter0 QP 2 sends    sends again from PSN 16777214 on; 2 retries are left
       8.462 us  adapter0 QP 2 sends    packet sent again: PSN 16777214
       8.472 us  adapter1 QP 2 receives packet received: RC_SEND_ONLY, PSN 16777214, 8 bytes
       8.472 us  adapter1 QP 2 receives message complete: all of it is in memory
       8.482 us  adapter1 QP 2 receives completion written to CQ 2
       8.492 us  adapter1 QP 2 receives no event: CQ 2 is not armed
       8.502 us  adapter1 QP 2 receives ACK up to PSN 16777214 sent
       8.512 us  adapter0 QP 2 sends    ACK up to PSN 16777214 received
       8.522 us  adapter0 QP 2 sends    command complete: acknowledged
       8.532 us  adapter0 QP 2 sends    completion written to CQ 1
       8.542 us  adapter0 QP 2 sends    no event: CQ 1 is not armed
8.472 us from the first of these to the end on QP 2
`,
  'summary bytes, before the time stamp': `sent by QP 4: NOP number 0, 0 bytes in 0 packets, SUCCESS
       0.000 us  QP 4 sends           first store to VCB 2, which gets PCB 0
       0.010 us  QP 4 sends           command 0 is whole in VCB 2 (the kick)
       0.020 us  QP 4 sends           command 0 launched from lane 0
       0.030 us  QP 4 sends             NOP, signaled
       0.060 us  QP 4 sends           command complete: it sends nothing
       0.070 us  QP 4 sends           completion written to CQ 5
       0.080 us  QP 4 sends           event of CQ 5 written to EQ 3
       0.090 us  QP 4 sends           secondary summary byte 1 of EQ 3 set
       0.100 us  QP 4 sends           primary summary byte of EQ 3 set
       0.130 us  QP 4 sends           interrupt: MSI-X vector 7
0.060 us from the first of these to the end on QP 4
no packet of it was sent: there is no other side

sent by QP 5: NOP number 0, 0 bytes in 0 packets, SUCCESS
       0.000 us  QP 5 sends           first store to VCB 3, which gets PCB 0
       0.010 us  QP 5 sends           command 0 is whole in VCB 3 (the kick)
       0.020 us  QP 5 sends           command 0 launched from lane 1
       0.030 us  QP 5 sends             NOP, signaled
       0.060 us  QP 5 sends           command complete: it sends nothing
       0.070 us  QP 5 sends           completion written to CQ 6
       0.080 us  QP 5 sends           event of CQ 6 written to EQ 3
       0.090 us  QP 5 sends           secondary summary byte 2 of EQ 3 set
       0.100 us  QP 5 sends           no interrupt: EQ 3 holds events, and its time stamp lies ahead
0.060 us from the first of these to the end on QP 5
no packet of it was sent: there is no other side
`,
  'a READ, the vector is masked, one side': `sent by QP 2: RDMA_READ number 0, 300 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 1
  0000000000000000...
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             RDMA_READ, signaled, R_Key 0x200
       0.040 us  QP 2 sends             SGE: 300 bytes at 0x123459f140, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_RDMA_READ_REQUEST, PSN 0, 0 bytes
       0.080 us  QP 2 sends           packet received: RC_RDMA_READ_RESPONSE_FIRST, PSN 0, 256 bytes
       0.090 us  QP 2 sends           command complete: all of the answer is in memory
       0.100 us  QP 2 sends           completion written to CQ 1
       0.110 us  QP 2 sends           event of CQ 1 written to EQ 1
       0.110 us  QP 2 sends           vector 5 is pending: masked, MSI-X disabled or no bus mastering
0.090 us from the first of these to the end on QP 2
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
       0.050 us  QP 4 sends           command complete: all of it is sent
       0.070 us  QP 4 sends           completion written to CQ 5
       0.080 us  QP 4 sends           event of CQ 5 written to EQ 3
       0.090 us  QP 4 sends           secondary summary byte 0 of EQ 3 set
       0.100 us  QP 4 sends           primary summary byte of EQ 3 set
       0.110 us  QP 4 sends           no interrupt: the delay of EQ 3 says that software polls
       0.130 us  QP 5 receives        packet received: UD_SEND_ONLY, PSN 0, 3 bytes
       0.130 us  QP 5 receives        message complete: all of it is in memory
       0.140 us  QP 5 receives        completion written to CQ 6
       0.150 us  QP 5 receives        no event: CQ 6 is not armed
0.050 us from the first of these to the end on QP 4
`,
};
