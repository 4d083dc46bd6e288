// SPDX-License-Identifier: Apache-2.0
/**
 * The signals that ask a command to end. A command that must finish something takes the first one;
 * the next one, of any kind, ends the process as if there were no handler.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The first signal, and a function after which no signal is taken any longer. */
export interface AskedToEnd {
  readonly whenAsked: Promise<NodeJS.Signals>;
  forget(): void;
}

/** Takes the first signal from now on. */
export function takeSignals(): AskedToEnd {
  let forget = (): void => {};
  const whenAsked = new Promise<NodeJS.Signals>((resolve) => {
    const take = (signal: NodeJS.Signals): void => {
      forget();
      resolve(signal);
    };
    forget = () => {
      for (const name of SIGNALS) process.off(name, take);
    };
    for (const name of SIGNALS) process.on(name, take);
  });
  return { whenAsked, forget };
}
