// SPDX-License-Identifier: Apache-2.0
/**
 * Counters of one function that several units share. Units increment the fields; registers show
 * them (`registers/`); a reset of the function clears them.
 */
export class FunctionCounters {
  managementCommands = 0;
  managementRefused = 0;
  doorbellsExplicit = 0;
  doorbellsImplicit = 0;
  doorbellsIdle = 0;
  doorbellsStale = 0;
  doorbellsSpilled = 0;
  doorbellsDrained = 0;
  doorbellsLost = 0;
  commandsQueued = 0;
  sweeps = 0;
  deadlocksDetected = 0;
  queueTurns = 0;
  /** Send queues that began to be watched, and tails that were found. */
  tailWatches = 0;
  tailsFound = 0;
  queuesLinked = 0;
  linkChecks = 0;
  linkChecksFailed = 0;
  commandsFetched = 0;
  commandsCollected = 0;
  commandsStale = 0;
  levelMismatches = 0;
  /** Entries of CQs and of EQs that no longer exist. */
  retiredCompletions = 0;
  retiredEvents = 0;
  /** Page faults raised; accesses that joined one, or waited for room to raise one. */
  pageFaults = 0;
  pageFaultsShared = 0;
  pageFaultsDeferred = 0;
  /** Page faults that software refused; pages that it made present, and took back. */
  pageFaultsRefused = 0;
  pagesResolved = 0;
  pagesInvalidated = 0;

  /** Assigns every field of a new object, so that the fields are listed once. */
  reset(): void {
    Object.assign(this, new FunctionCounters());
  }
}
