// SPDX-License-Identifier: Apache-2.0
/**
 * The reference captures against which tests compare. The one of soft-RoCE was made by this project
 * and is here. The one of real adapters belongs to others: `VUHCA_CAPTURES` names its folder, by
 * default `shared/data` beside the repository; without it a test tells what it did not check.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PcapFile, readPcap } from '../pcap.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');
const FOREIGN_FOLDER = process.env.VUHCA_CAPTURES ?? join(REPOSITORY, '..', 'shared', 'data');

/** Capture of 43 packets between real channel adapters, as ERF records. */
export const REAL_HCA_CAPTURE = join(FOREIGN_FOLDER, 'real-hca-infiniband.pcap');

/** Capture of 158 RoCEv2 packets between two soft-RoCE peers, as Ethernet frames. */
export const RXE_CAPTURE = join(import.meta.dirname, 'captures/soft-roce.pcap');

/** False, or what a test that needs the capture of real adapters does not check. */
export function realCaptureMissing(): string | false {
  const missed = 'headers, CRCs and rebuilt bytes of 43 packets of real adapters are not checked';
  return existsSync(REAL_HCA_CAPTURE) ? false : `${missed}: VUHCA_CAPTURES names no folder with their capture`;
}

/** Bytes and records of a capture. */
export function readCapture(path: string): { view: DataView; file: PcapFile } {
  const bytes = readFileSync(path);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { view, file: readPcap(view) };
}
