// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca run --attach`: a guest at a free place of a running cluster, which owns the
 * adapter. The guest ends when the place is lost, and the end of the guest frees the place. Called
 * by run-action.ts.
 */
import type { Guest } from '../../../qemu/guest.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { setUp } from '../../setup/set-up.ts';
import { PlaceLease, readPlaceName } from '../cluster-client/place-lease.ts';
import { isGiven } from '../options/adapter-arguments.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { UsageError } from '../options/usage-error.ts';
import { takeSignals } from '../session/signals.ts';
import { saveTerminal } from '../session/terminal.ts';
import { startWatched, type WatchedGuest } from '../session/watched-guest.ts';
import type { RunArguments } from './run-command.ts';
import { CaseReport, conclude, say } from './run-end.ts';
import { checkRun, prepareGuest } from './run-guest.ts';

/** Options beside those of the guest itself. */
const TAKEN: readonly string[] = ['--attach', '--personality', '--gdb', '--paused'];
const GUEST_GROUP = 'Guest:';

/** Runs the guest at the place named in `text`; returns the exit status. */
export async function performAttached(command: CliCommand, given: RunArguments, text: string): Promise<number> {
  const name = readPlaceName(text);
  const wrong = command
    .givenOptions()
    .find(({ long, helpGroupHeading }) => helpGroupHeading !== GUEST_GROUP && !TAKEN.includes(long ?? ''));
  if (wrong !== undefined)
    throw new UsageError(`option ${wrong.long} cannot be given with --attach: the cluster has the adapter`);
  const lease = await PlaceLease.take(name);
  try {
    return await new AttachedRun(lease, adaptToPlace(command, given, lease), command.rest).perform();
  } finally {
    lease.close();
  }
}

/** The arguments with those that the adapter of the place determines. Throws UsageError. */
function adaptToPlace(command: CliCommand, given: RunArguments, { name, place }: PlaceLease): RunArguments {
  const { personality, orderCheck, tcgThread } = place;
  if (isGiven(command, '--personality') && given.personality !== personality)
    throw new UsageError(
      `option --personality is ${given.personality}, and the adapter of ${name.node} is ${personality}: leave it out`,
    );
  const adapted = { ...given, personality, orderCheck, tcgThread };
  checkRun(adapted, command.rest);
  return adapted;
}

class AttachedRun {
  readonly #lease: PlaceLease;
  readonly #given: RunArguments;
  readonly #rest: readonly string[] | undefined;
  #signal: NodeJS.Signals | undefined;

  constructor(lease: PlaceLease, given: RunArguments, rest: readonly string[] | undefined) {
    this.#lease = lease;
    this.#given = given;
    this.#rest = rest;
  }

  async perform(): Promise<number> {
    const { name, place } = this.#lease;
    const interactive = this.#given.case === undefined;
    const restoreTerminal = interactive ? saveTerminal() : () => {};
    await setUp('start');
    say(`preparing the guest for ${name.node} of cluster ${name.cluster}`);
    const { guest, life } = await this.#start();
    say(`QEMU is process ${guest.pid}`);
    if (place.address !== undefined) say(`other nodes look for ${name.node} at ${place.address}`);
    if (interactive) say('the console of the guest follows; Ctrl-A x ends the guest');
    const report = interactive ? undefined : new CaseReport(guest, () => {});
    const exit = await this.#follow(guest);
    life.end();
    restoreTerminal();
    // A guest that lost its adapter may end in any way.
    const loss = await this.#lease.end();
    if (loss !== undefined && this.#signal === undefined) throw new SetupError(loss);
    const { silence, complaints } = life;
    return conclude(
      { guest: exit, deviceFailure: undefined, capture: undefined, silence, complaints },
      report,
      this.#signal,
    );
  }

  async #start(): Promise<WatchedGuest> {
    const { timeout } = this.#given;
    const lost = this.#lease.whenLost.then((loss) => Promise.reject(new SetupError(loss)));
    const prepared = await Promise.race([prepareGuest(this.#given, this.#rest), lost]);
    return startWatched({
      guest: prepared,
      device: this.#lease,
      say,
      ...(timeout === undefined ? {} : { silenceSeconds: timeout }),
    });
  }

  /** Waits for the end of the guest, which a signal or the loss of its place causes. */
  async #follow(guest: Guest): ReturnType<Guest['quit']> {
    void takeSignals().whenAsked.then((signal) => {
      this.#signal = signal;
      void guest.quit();
    });
    void this.#lease.whenLost.then(() => guest.quit());
    return guest.whenExited;
  }
}
