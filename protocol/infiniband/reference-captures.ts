// SPDX-License-Identifier: Apache-2.0
/** Finds the reference captures that tests verify against; they lie beside the repository and are not part of it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PcapFile, readPcap } from './pcap.ts';

const FOLDER = join(import.meta.dirname, '../../../shared/data');

/** 43 packets of real channel adapters, ERF. */
export const REAL_HCA_CAPTURE = 'real-hca-infiniband.pcap';

/** 158 RoCEv2 packets between two soft-RoCE peers, Ethernet. */
export const RXE_CAPTURE = 'rxe-rocev2-golden.pcap';

/** False, or why the test that needs the capture is skipped. */
export function captureMissing(name: string): string | false {
  const path = join(FOLDER, name);
  return existsSync(path) ? false : `${path} is absent`;
}

/** The capture's bytes and records. */
export function readCapture(name: string): { view: DataView; file: PcapFile } {
  const bytes = readFileSync(join(FOLDER, name));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { view, file: readPcap(view) };
}
