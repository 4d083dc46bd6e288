// SPDX-License-Identifier: Apache-2.0
// The device of the benchmark: 64 registers, word 1 counts writes. `twin.c` is the same in C.
// Usage: device.ts SOCKET [PumpOptions as JSON]

import pino from 'pino';
import { loadLibrary, Pump, VfioUserContext } from '../index.ts';

const registers = new DataView(new ArrayBuffer(256));
const context = new VfioUserContext(loadLibrary(process.env.LIBVFIO_USER as string), {
  socketPath: process.argv[2],
  ids: { vendor: 0x1234, device: 1, subsystemVendor: 0x1234, subsystem: 1, classCode: 0xff0000 },
  bars: [
    {
      index: 0,
      sizeBytes: 65536,
      handler: {
        read(offset, sizeBytes, data) {
          if (offset + sizeBytes > 256) return;
          data.setUint32(0, registers.getUint32(offset, true), true);
        },
        write(offset, sizeBytes, data) {
          if (offset + sizeBytes > 256) return;
          registers.setUint32(offset, data.getUint32(0, true), true);
          if (sizeBytes === 8) registers.setUint32(offset + 4, data.getUint32(4, true), true);
          registers.setUint32(4, registers.getUint32(4, true) + 1, true);
        },
      },
    },
  ],
  capabilities: [],
  callbacks: { reset: () => undefined },
  log: pino({ level: 'warn' }),
});
const pump = new Pump(JSON.parse(process.argv[3] ?? '{}'));
pump.add(context);
pump.start();
process.once('SIGTERM', () => pump.destroy());
