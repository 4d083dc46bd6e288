// SPDX-License-Identifier: Apache-2.0
/**
 * Coded numbers in AETH syndromes and QP attributes: receive credits (IBTA table 43), RNR NAK
 * timers (IBTA table 45) and the local ACK timeout (IBTA 9.7.6.1.3). Requester and responder decode
 * them.
 */

/** Width of the value of a syndrome; its kind is above. */
const SYNDROME_VALUE_BITS = 5;

/** The AETH syndrome of a kind (`AethKind`) and its value, as on the wire (IBTA 9.7.5.2.1). */
export function syndromeOf(kind: number, value: number): number {
  return (kind << SYNDROME_VALUE_BITS) | value;
}

/** Kind of a syndrome (`AethKind`), and its value. */
export function splitSyndrome(syndrome: number): { readonly kind: number; readonly value: number } {
  return { kind: syndrome >> SYNDROME_VALUE_BITS, value: syndrome & ((1 << SYNDROME_VALUE_BITS) - 1) };
}

/** Credit count field of a receiver without end-to-end flow control. */
export const CREDITS_UNLIMITED = 31;

/** RNR NAK timers by code, in units of 10 us. */
const RNR_TIMERS = [
  65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144,
  8192, 12288, 16384, 24576, 32768, 49152,
];

/** Wait that an RNR NAK timer code requests, in ns; `code` is 0 to 31. */
export function rnrTimerNs(code: number): number {
  return RNR_TIMERS[code & 31] * 10_000;
}

/** Local ACK timeouts by code, in ns. */
const ACK_TIMEOUTS_NS = Float64Array.from({ length: 32 }, (_, code) => 4096 * 2 ** code);
ACK_TIMEOUTS_NS[0] = Number.POSITIVE_INFINITY;

/** Credits by credit count field. */
const CREDITS = Uint16Array.from({ length: CREDITS_UNLIMITED }, (_, field) => {
  if (field < 2) return field;
  return field % 2 === 0 ? 2 ** (field / 2) : 3 * 2 ** ((field - 3) / 2);
});

/** Local ACK timeout of a code in ns: 4.096 us * 2^code; Infinity for code 0, no timeout. */
export function ackTimeoutNs(code: number): number {
  return ACK_TIMEOUTS_NS[code & 31];
}

/** Receive requests that a credit count field (0 to 30) grants. */
export function creditsOf(field: number): number {
  return CREDITS[field];
}

/** Largest credit count field that grants at most `credits`. */
export function creditField(credits: number): number {
  let field = 0;
  while (field < CREDITS_UNLIMITED - 1 && CREDITS[field + 1] <= credits) field++;
  return field;
}
