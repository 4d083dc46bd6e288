// SPDX-License-Identifier: Apache-2.0
/**
 * The stories of the situations of event-situations.ts, word for word; stories.ts has the others.
 */
export const eventStories: Readonly<Record<string, string>> = {
  'the driver is late': `sent by QP 4: NOP number 0, 0 bytes in 0 packets, SUCCESS
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
       0.110 us  QP 5 sends           EQ 3 held events, and its time stamp has passed: the driver is late
       0.130 us  QP 5 sends           interrupt: MSI-X vector 7
0.070 us from the first of these to the end on QP 5
no packet of it was sent: there is no other side
`,
  'the controls ask for no interrupt': `sent by QP 4: NOP number 0, 0 bytes in 0 packets, SUCCESS
       0.000 us  QP 4 sends           first store to VCB 2, which gets PCB 0
       0.010 us  QP 4 sends           command 0 is whole in VCB 2 (the kick)
       0.020 us  QP 4 sends           command 0 launched from lane 0
       0.030 us  QP 4 sends             NOP, signaled
       0.070 us  QP 4 sends           command complete: it sends nothing
       0.080 us  QP 4 sends           completion written to CQ 5
       0.090 us  QP 4 sends           event of CQ 5 written to EQ 3
       0.100 us  QP 4 sends           secondary summary byte 0 of EQ 3 set
       0.110 us  QP 4 sends           no interrupt: the event controls of EQ 3 ask for none
0.070 us from the first of these to the end on QP 4
no packet of it was sent: there is no other side

sent by QP 5: NOP number 0, 0 bytes in 0 packets, SUCCESS
       0.000 us  QP 5 sends           first store to VCB 3, which gets PCB 0
       0.010 us  QP 5 sends           command 0 is whole in VCB 3 (the kick)
       0.020 us  QP 5 sends           command 0 launched from lane 1
       0.030 us  QP 5 sends             NOP, signaled
       0.070 us  QP 5 sends           command complete: it sends nothing
       0.080 us  QP 5 sends           completion written to CQ 6
       0.090 us  QP 5 sends           event of CQ 6 written to EQ 4
       0.100 us  QP 5 sends           secondary summary byte 0 of EQ 4 set
       0.110 us  QP 5 sends           primary summary byte of EQ 4 set
       0.120 us  QP 5 sends           no interrupt: the event controls of EQ 4 ask for none
0.070 us from the first of these to the end on QP 5
no packet of it was sent: there is no other side
`,
  'no event queue, and a full one': `sent by QP 5: NOP number 0, 0 bytes in 0 packets, SUCCESS
       0.000 us  QP 5 sends           first store to VCB 3, which gets PCB 1
       0.010 us  QP 5 sends           command 0 is whole in VCB 3 (the kick)
       0.020 us  QP 5 sends           command 0 launched from lane 1
       0.030 us  QP 5 sends             NOP, signaled
       0.070 us  QP 5 sends           command complete: it sends nothing
       0.080 us  QP 5 sends           completion written to CQ 7
       0.090 us  QP 5 sends           no event: CQ 7 has no EQ
0.070 us from the first of these to the end on QP 5
no packet of it was sent: there is no other side

sent by QP 6: NOP number 0, 0 bytes in 0 packets, SUCCESS
       0.000 us  QP 6 sends           first store to VCB 4, which gets PCB 1
       0.010 us  QP 6 sends           command 0 is whole in VCB 4 (the kick)
       0.020 us  QP 6 sends           command 0 launched from lane 2
       0.030 us  QP 6 sends             NOP, signaled
       0.070 us  QP 6 sends           command complete: it sends nothing
       0.080 us  QP 6 sends           completion written to CQ 5
       0.090 us  QP 6 sends           no event: the EQ of CQ 5 is full or in error
0.070 us from the first of these to the end on QP 6
no packet of it was sent: there is no other side
`,
  'a solicited message behind another one': `sent by QP 2: SEND number 0, 8 bytes in 1 packet, SUCCESS
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
       0.150 us  QP 3 receives        no event yet: CQ 4 is armed for solicited completions only
       0.160 us  QP 3 receives        ACK up to PSN 0 sent
       0.170 us  QP 2 sends           ACK up to PSN 0 received
       0.190 us  QP 2 sends           command complete: acknowledged
       0.200 us  QP 2 sends           completion written to CQ 1
       0.210 us  QP 2 sends           no event: CQ 1 is not armed
       0.380 us  QP 3 receives        event of CQ 4 written to EQ 1, with a later completion
       0.470 us  QP 3 receives        interrupt: MSI-X vector 5
0.190 us from the first of these to the end on QP 2
`,
  'an event was answered, the CQ is not armed again': `sent by QP 2: SEND number 1, 8 bytes in 1 packet, SUCCESS
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
       0.210 us  QP 2 sends           no event: CQ 1 is not armed again since its last event
0.190 us from the first of these to the end on QP 2
`,
};
