// SPDX-License-Identifier: Apache-2.0
/**
 * The bugs planted in a driver: each replaces a class of the driver by one with a defect that real
 * drivers have had. Used by the sanitizer's test, its matrix and `npm run simulate -- digests`.
 */
import type { DriverClasses } from '../driver/driver-classes.ts';
import * as events from './event-bugs.ts';
import * as sends from './send-bugs.ts';

/** One bug. */
export interface PlantedBug {
  readonly name: string;
  /** The defect, as the predicate of "a driver that ...". */
  readonly what: string;
  readonly classes: Partial<DriverClasses>;
}

/** All bugs. */
export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'body-before-sequence',
    what: 'reads the body of a CQE before its sequence word',
    classes: { CompletionQueue: events.BodyFirstQueue },
  },
  {
    name: 'no-recheck-after-arm',
    what: 'arms without the count it has consumed, and does not look again',
    classes: { EventPoller: events.NoRecheckPoller },
  },
  {
    name: 'pending-cleared-late',
    what: 'clears EQ pending after reading the CQ, without the consumed count',
    classes: { EventPoller: events.LateClearPoller },
  },
  {
    name: 'primary-after-scan',
    what: 'clears the primary summary byte after scanning',
    classes: { EventPoller: events.PrimaryLastPoller },
  },
  {
    name: 'secondary-after-scan',
    what: 'clears the secondary summary bytes after reading the EQ',
    classes: { EventPoller: events.SecondaryLastPoller },
  },
  {
    name: 'no-deadman',
    what: 'has no slow poll for the event that the device leaves without an interrupt',
    classes: { EventPoller: events.NoDeadmanPoller },
  },
  {
    name: 'stale-event',
    what: 'believes an event about a CQ that was destroyed',
    classes: { EventPoller: events.TrustingPoller },
  },
  {
    name: 'cq-consumer-early',
    what: 'gives a CQE back before it has read it',
    classes: { CompletionQueue: events.EarlyConsumerQueue },
  },
  {
    name: 'eq-consumer-early',
    what: 'gives EQEs back before it has read them',
    classes: { EventQueue: events.EarlyConsumerEvents },
  },
  {
    name: 'matched-by-order',
    what: 'takes completions to come in the order of posting, whatever they say',
    classes: { OutstandingWork: events.OrderedWork as DriverClasses['OutstandingWork'] },
  },
  {
    name: 'doorbell-before-entry',
    what: 'moves the tail and rings before the send queue entry is written',
    classes: { QueuePair: sends.EarlyDoorbellPair },
  },
  {
    name: 'mark-before-tail',
    what: 'has no barrier between the tail and the look whether the queue is watched',
    classes: { QueuePair: sends.NoBarrierPair },
  },
  {
    name: 'page-released-early',
    what: 'lets others use a collect page before its command is whole',
    classes: { CollectPagePool: sends.EarlyReleasePool },
  },
  {
    name: 'credit-read-twice',
    what: 'reads the credit word once to compare and again to count',
    classes: { SendContext: sends.ReadTwiceContext },
  },
  {
    name: 'credit-in-halves',
    what: 'reads the credit counter byte by byte',
    classes: { SendContext: sends.HalvesContext },
  },
  {
    name: 'credit-without-wrap',
    what: 'compares the credit counter without its wrap',
    classes: { SendContext: sends.NoWrapContext },
  },
  {
    name: 'force-without-edge',
    what: 'sets the force control and never clears it',
    classes: { SendContext: sends.HeldForceContext },
  },
];
