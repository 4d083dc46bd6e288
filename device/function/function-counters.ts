// SPDX-License-Identifier: Apache-2.0
/** Counters of one function that several units share; read through registers, cleared by reset. */
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
  sweeps = 0;
  deadlocksDetected = 0;
  queuesLinked = 0;
  linkChecks = 0;
  linkChecksFailed = 0;
  commandsFetched = 0;
  commandsCollected = 0;
  commandsStale = 0;

  reset(): void {
    this.managementCommands = 0;
    this.managementRefused = 0;
    this.doorbellsExplicit = 0;
    this.doorbellsImplicit = 0;
    this.doorbellsIdle = 0;
    this.doorbellsStale = 0;
    this.doorbellsSpilled = 0;
    this.doorbellsDrained = 0;
    this.doorbellsLost = 0;
    this.sweeps = 0;
    this.deadlocksDetected = 0;
    this.queuesLinked = 0;
    this.linkChecks = 0;
    this.linkChecksFailed = 0;
    this.commandsFetched = 0;
    this.commandsCollected = 0;
    this.commandsStale = 0;
  }
}
