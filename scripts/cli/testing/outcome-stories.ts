// SPDX-License-Identifier: Apache-2.0
/**
 * The stories of situations in which a message fails, is lost or is long, word for word;
 * stories.ts has the others.
 */
export const outcomeStories: Readonly<Record<string, string>> = {
  'a reset during an RNR wait': `sent by QP 2: SEND number 0, 8 bytes in 1 packet, FLUSHED
  to QP 3 at LID 2, port 1, PSN 0 to 0
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
       0.140 us  QP 2 sends           it ends: FLUSHED
0.140 us from the first of these to the end on QP 2
the other side is traced, but has no message with PSN 0
`,
  'a datagram with a wrong Q_Key': `sent by QP 2: SEND number 0, 4 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0
  00000000
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             SEND, signaled, inline
       0.050 us  QP 2 sends           packet sent: UD_SEND_ONLY, PSN 0, 4 bytes
       0.080 us  QP 2 sends           command complete: all of it is sent
       0.090 us  QP 2 sends           completion written to CQ 1
       0.100 us  QP 2 sends           no event: CQ 1 is not armed
       0.120 us  QP 3 receives        packet dropped: UD_SEND_ONLY, PSN 0, wrong Q_Key
0.080 us from the first of these to the end on QP 2
the other side is traced, but has no message with PSN 0
`,
  'a message to an XRC queue': `sent by QP 2: SEND number 0, 40 bytes in 1 packet, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 0
  0000000000000000...
received by QP 3: SEND number 0, 40 bytes in 1 packet, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000...
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             SEND, signaled
       0.040 us  QP 2 sends             SGE: 40 bytes at 0x1234581140, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: XRC_SEND_ONLY, PSN 0, 40 bytes
       0.110 us  QP 3 receives        receive WQE 0 taken
       0.120 us  QP 3 receives          SGE: 64 bytes at 0x12345810c0, L_Key 0x200
       0.140 us  QP 3 receives        packet received: XRC_SEND_ONLY, PSN 0, 40 bytes
       0.150 us  QP 3 receives        message complete: all of it is in memory
       0.160 us  QP 3 receives        completion written to CQ 2
       0.170 us  QP 3 receives        no event: CQ 2 is not armed
       0.180 us  QP 3 receives        ACK up to PSN 0 sent
       0.190 us  QP 2 sends           ACK up to PSN 0 received
       0.210 us  QP 2 sends           command complete: acknowledged
       0.220 us  QP 2 sends           completion written to CQ 1
       0.230 us  QP 2 sends           no event: CQ 1 is not armed
0.210 us from the first of these to the end on QP 2
`,
  'a message is too long for its receive WQE': `sent by QP 2: SEND number 0, 700 bytes in 3 packets, REMOTE_INVALID_REQUEST_ERROR
  to QP 3 at LID 2, port 1, PSN 0 to 2
  0000000000000000...
received by QP 3: SEND number 0, 256 bytes in 1 packet, LOCAL_LENGTH_ERROR
  from QP 2 at LID 1, port 2, PSN 0 to 0
  0000000000000000...
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             SEND, signaled
       0.040 us  QP 2 sends             SGE: 700 bytes at 0x123459f2c0, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_SEND_FIRST, PSN 0, 256 bytes
       0.080 us  QP 2 sends           packet sent: RC_SEND_MIDDLE, PSN 1, 256 bytes
       0.090 us  QP 2 sends           packet sent: RC_SEND_LAST, PSN 2, 188 bytes
       0.110 us  QP 3 receives        receive WQE 0 taken
       0.120 us  QP 3 receives          SGE: 300 bytes at 0x123459f140, L_Key 0x100
       0.140 us  QP 3 receives        packet received: RC_SEND_FIRST, PSN 0, 256 bytes
       0.150 us  QP 3 receives        packet refused: RC_SEND_MIDDLE, PSN 1, RECEIVE_TOO_SHORT
       0.160 us  QP 3 receives        it ends: LOCAL_LENGTH_ERROR
       0.170 us  QP 3 receives        completion written to CQ 4
       0.180 us  QP 3 receives        no event: CQ 4 is not armed
       0.220 us  QP 3 receives        NAK of PSN 1 (INVALID_REQUEST) sent
       0.230 us  QP 2 sends           NAK of PSN 1 (INVALID_REQUEST) received
       0.250 us  QP 2 sends           it ends: REMOTE_INVALID_REQUEST_ERROR
       0.260 us  QP 2 sends           completion written to CQ 1
       0.270 us  QP 2 sends           no event: CQ 1 is not armed
0.250 us from the first of these to the end on QP 2
`,
  'a message of 400 packets': `sent by QP 2: SEND number 0, 102400 bytes in 400 packets, SUCCESS
  to QP 3 at LID 2, port 1, PSN 0 to 399
  0000000000000000...
received by QP 3: SEND number 0, 102400 bytes in 400 packets, SUCCESS
  from QP 2 at LID 1, port 2, PSN 0 to 399
  0000000000000000...
       0.000 us  QP 2 sends           first store to VCB 0, which gets PCB 0
       0.010 us  QP 2 sends           command 0 is whole in VCB 0 (the kick)
       0.020 us  QP 2 sends           command 0 launched from lane 0
       0.030 us  QP 2 sends             SEND, signaled
       0.040 us  QP 2 sends             SGE: 102400 bytes at 0x12345bf180, L_Key 0x100
       0.060 us  QP 2 sends           packet sent: RC_SEND_FIRST, PSN 0, 256 bytes
       0.080 us  QP 2 sends           packet sent: RC_SEND_MIDDLE, PSN 1, 256 bytes
       0.090 us  QP 2 sends           packet sent: RC_SEND_MIDDLE, PSN 2, 256 bytes
       0.100 us  QP 2 sends           packet sent: RC_SEND_MIDDLE, PSN 3, 256 bytes
       0.110 us  QP 2 sends           packet sent: RC_SEND_MIDDLE, PSN 4, 256 bytes
       0.120 us  QP 2 sends           packet sent: RC_SEND_MIDDLE, PSN 5, 256 bytes
       0.130 us  QP 2 sends           packet sent: RC_SEND_MIDDLE, PSN 6, 256 bytes
       0.140 us  QP 2 sends           packet sent: RC_SEND_MIDDLE, PSN 7, 256 bytes
       0.150 us  QP 2 sends           120 packets sent: PSN 8 to 127, within 1.870 us
       0.710 us  QP 3 receives        receive WQE 0 taken
       0.720 us  QP 3 receives          SGE: 131072 bytes at 0x123459f140, L_Key 0x100
       0.740 us  QP 3 receives        packet received: RC_SEND_FIRST, PSN 0, 256 bytes
       0.750 us  QP 3 receives        packet received: RC_SEND_MIDDLE, PSN 1, 256 bytes
       0.760 us  QP 3 receives        packet received: RC_SEND_MIDDLE, PSN 2, 256 bytes
       0.770 us  QP 3 receives        packet received: RC_SEND_MIDDLE, PSN 3, 256 bytes
       0.780 us  QP 3 receives        packet received: RC_SEND_MIDDLE, PSN 4, 256 bytes
       0.790 us  QP 3 receives        packet received: RC_SEND_MIDDLE, PSN 5, 256 bytes
       0.800 us  QP 3 receives        packet received: RC_SEND_MIDDLE, PSN 6, 256 bytes
       0.810 us  QP 3 receives        packet received: RC_SEND_MIDDLE, PSN 7, 256 bytes
       0.820 us  QP 3 receives        56 packets received: PSN 8 to 63, within 0.550 us
       1.380 us  QP 3 receives        ACK up to PSN 63 sent
       2.030 us  QP 2 sends           ACK up to PSN 63 received
       2.040 us  QP 3 receives        64 packets received: PSN 64 to 127, within 1.260 us
       2.670 us  QP 2 sends           64 packets sent: PSN 128 to 191, within 0.650 us
       3.310 us  QP 3 receives        ACK up to PSN 127 sent
       3.330 us  QP 2 sends           ACK up to PSN 127 received
       3.340 us  QP 3 receives        64 packets received: PSN 128 to 191, within 1.240 us
       3.950 us  QP 2 sends           64 packets sent: PSN 192 to 255, within 0.670 us
       4.590 us  QP 3 receives        ACK up to PSN 191 sent
       4.630 us  QP 2 sends           ACK up to PSN 191 received
       4.640 us  QP 3 receives        64 packets received: PSN 192 to 255, within 1.220 us
       5.230 us  QP 2 sends           64 packets sent: PSN 256 to 319, within 0.690 us
       5.870 us  QP 3 receives        ACK up to PSN 255 sent
       5.930 us  QP 2 sends           ACK up to PSN 255 received
       5.940 us  QP 3 receives        64 packets received: PSN 256 to 319, within 1.200 us
       6.510 us  QP 2 sends           64 packets sent: PSN 320 to 383, within 0.710 us
       7.150 us  QP 3 receives        ACK up to PSN 319 sent
       7.230 us  QP 2 sends           ACK up to PSN 319 received
       7.240 us  QP 3 receives        80 packets received: PSN 320 to 399, within 0.960 us
       7.790 us  QP 2 sends           16 packets sent: PSN 384 to 399, within 0.150 us
       8.220 us  QP 3 receives        message complete: all of it is in memory
       8.230 us  QP 3 receives        completion written to CQ 4
       8.240 us  QP 3 receives        no event: CQ 4 is not armed
       8.250 us  QP 3 receives        ACK up to PSN 399 sent
       8.260 us  QP 2 sends           ACK up to PSN 399 received
       8.280 us  QP 2 sends           command complete: acknowledged
       8.290 us  QP 2 sends           completion written to CQ 1
       8.300 us  QP 2 sends           no event: CQ 1 is not armed
8.280 us from the first of these to the end on QP 2
`,
};
