// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca show connections`: the PSNs of each connected queue pair that are outstanding, why it
 * sends nothing, and the retries that are left (IBTA 9.7.3, 9.7.5.1.4, 9.7.6.1.3).
 */
import { PSN_MASK } from '../../../../protocol/infiniband/psn.ts';
import { qpStateName } from '../../../../protocol/layout/gen/values.gen.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { requesterOf, responderOf } from '../../transport/state/connected-states.ts';
import { type RequesterState, requesterWaitNames } from '../../transport/state/requester-state.ts';
import type { CommandHolder } from './commands.ts';
import { sorted } from './queues.ts';
import { type Row, serviceOf } from './rows.ts';

/** Queue pairs with a requester, in the order of their numbers. */
export function showConnections({ adapter }: { readonly adapter: Pick<CommandHolder, 'tables'> }): Row[] {
  return sorted(adapter.tables.queuePairs).flatMap((qp) => {
    const state = requesterOf(qp);
    return state === undefined ? [] : [describeConnection(qp, state)];
  });
}

/**
 * PSNs from `unackedPsn` to before `sentPsn` are outstanding; those up to `nextPsn` are given to
 * messages. `expectedPsn`: of the next request of the other end.
 */
function describeConnection(qp: QueuePair, state: RequesterState): Row {
  const { unackedPsn, sentPsn, nextPsn, recordCount, wait, retriesLeft, rnrRetriesLeft, path } = state;
  const responder = responderOf(qp);
  return {
    qp: qp.number,
    function: qp.owner.number,
    service: serviceOf(qp),
    state: qpStateName(qp.state),
    remoteQp: qp.attributes.remoteQpn === 0 ? null : qp.attributes.remoteQpn,
    lid: qp.attributes.remoteQpn === 0 ? null : path.dlid,
    messages: recordCount,
    unackedPsn,
    sentPsn,
    nextPsn,
    outstanding: (sentPsn - unackedPsn) & PSN_MASK,
    waitsFor: requesterWaitNames[wait] ?? null,
    retriesLeft,
    rnrRetriesLeft,
    expectedPsn: responder?.expectedPsn ?? null,
    msn: responder?.msn ?? null,
  };
}
