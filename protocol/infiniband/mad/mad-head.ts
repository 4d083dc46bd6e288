// SPDX-License-Identifier: Apache-2.0
/**
 * Begins a management datagram: zeros, and the common header with the versions of its class (IBTA
 * 13.4.2). Called by everything that sends requests, reports or traps of its own.
 */
import {
  setMadHeaderAttributeId,
  setMadHeaderAttributeModifier,
  setMadHeaderBaseVersion,
  setMadHeaderClassVersion,
  setMadHeaderManagementClass,
  setMadHeaderMethod,
  setMadHeaderTransactionIdHigh,
  setMadHeaderTransactionIdLow,
} from './gen/mad-header.gen.ts';
import { MadClass } from './gen/values.gen.ts';
import { MAD_BYTES } from './mad-headers.ts';

const BASE_VERSION = 1;
const CLASS_VERSION = 1;
const ADMINISTRATION_VERSION = 2;

/** Fields that differ from one datagram to the next; members without a value are 0. */
interface MadHead {
  readonly managementClass: number;
  /** Version; that of the class when absent. */
  readonly classVersion?: number;
  readonly method: number;
  readonly transactionHigh?: number;
  readonly transactionLow?: number;
  readonly attributeId: number;
  readonly modifier?: number;
}

/** A view of exactly one datagram, wherever it lies in its buffer. */
export function madView(mad: Uint8Array): DataView {
  return new DataView(mad.buffer, mad.byteOffset, MAD_BYTES);
}

/** Clears a datagram and writes its header. Returns a view of it. */
export function beginMad(mad: Uint8Array, head: MadHead): DataView {
  const { managementClass } = head;
  const isAdministration = managementClass === MadClass.SUBNET_ADMINISTRATION;
  const view = madView(mad);
  mad.fill(0, 0, MAD_BYTES);
  setMadHeaderBaseVersion(view, 0, BASE_VERSION);
  setMadHeaderManagementClass(view, 0, managementClass);
  setMadHeaderClassVersion(view, 0, head.classVersion ?? (isAdministration ? ADMINISTRATION_VERSION : CLASS_VERSION));
  setMadHeaderMethod(view, 0, head.method);
  setMadHeaderTransactionIdHigh(view, 0, head.transactionHigh ?? 0);
  setMadHeaderTransactionIdLow(view, 0, head.transactionLow ?? 0);
  setMadHeaderAttributeId(view, 0, head.attributeId);
  setMadHeaderAttributeModifier(view, 0, head.modifier ?? 0);
  return view;
}
