// SPDX-License-Identifier: Apache-2.0
/**
 * `npm start`: from a fresh clone to a guest that drives the adapter, without any question to the
 * user. Sets everything up, starts an adapter and a guest with the driver, lets datagrams flow
 * between the ports for some seconds, and shows the result.
 */
import { readFileSync } from 'node:fs';
import { ControlClient } from '../../device/process/control/control-client.ts';
import { describeDeviceExit, describeGuestExit } from '../../qemu/describe-exit.ts';
import { runEntry, SetupError } from '../../qemu/setup/tools/errors.ts';
import { defineScript } from '../../qemu/setup/tools/script-options.ts';
import { readStatus, sampleStatus } from '../cli/commands/status-sample.ts';
import { readWithAdapter } from '../cli/options/adapter-script.ts';
import { type ViewMode, viewOption } from '../cli/options/option-values.ts';
import { renderStatus } from '../cli/screens/status-screen.ts';
import { buildCaseImage, provideModules } from '../cli/session/guest-image.ts';
import { Session, type SessionEnd } from '../cli/session/session.ts';
import { startView } from '../cli/session/view-child.ts';
import { setUp } from '../setup/set-up.ts';
import { FirstLightReport } from './report.ts';

const TRAFFIC_SECONDS = 10;
const PORT = 'vuhca.first-light';
const SAMPLE_MS = 500;

const HINTS = `
Explore further:
  scripts/vuhca run                       a shell in the same guest; \`exit\` leaves
  scripts/vuhca status                    this screen, from another terminal, while a guest runs
  scripts/vuhca capture --output x.pcap   the packets of both ports, for Wireshark
  scripts/vuhca run --record x.rec        a recording; \`scripts/vuhca replay x.rec\` runs it again without a guest
  npm run debug                           breakpoints in the adapter while a guest uses it (docs/DEBUGGING.md)
  scripts/vuhca test guest-tests/example  compiles and tests a driver: docs/WRITING-DRIVERS.md
  npm test                                runs all tests
`;

await runEntry(async () => {
  const purpose = 'Shows the adapter and a guest at work, in about a minute.';
  const script = defineScript('npm start --', purpose).addOption(viewOption());
  const { words, view } = readWithAdapter<{ readonly view?: ViewMode }>(script);
  const report = new FirstLightReport((line) => process.stdout.write(`${line}\n`));
  const { qemu, accelerator } = await setUp('start');
  report.say('set-up', 'QEMU, guest kernel, libvfio-user and compiler are here');
  const session = await Session.start({
    device: { arguments: ['--log-level=warn', '--fabric=switch', ...words] },
    guest: prepareGuest(),
    onDevice: async ({ controlPath }) => {
      if (view !== undefined) report.say('page', await startView(controlPath, view));
    },
  });
  report.say('adapter', `process ${session.device.pid} serves ${session.device.socketPath()}`);
  report.say(
    'guest',
    `QEMU ${qemu.version} (${accelerator}), process ${session.guest.pid}, boots with the adapter on its PCI bus`,
  );
  let screen = '';
  session.guest.port().onLine((line) => {
    report.push(line);
    if (line === '@steady')
      void takeScreen(session).then((text) => {
        screen = text;
      });
  });
  const end = await session.whenEnded;
  conclude(report, end);
  process.stdout.write(`\nThe screen of \`scripts/vuhca status\` during the traffic:\n\n${screen}${HINTS}`);
});

async function prepareGuest() {
  const script = readFileSync(new URL('case.sh', import.meta.url), 'utf8');
  const caseScript = script.replace('"$SECONDS_OF_TRAFFIC"', String(TRAFFIC_SECONDS));
  return {
    initramfs: await buildCaseImage(await provideModules(['driver', 'traffic'], ['vuhca']), caseScript),
    ports: [PORT],
  };
}

/** The status while traffic flows; then the guest may end. */
async function takeScreen({ device, guest }: Session): Promise<string> {
  try {
    const client = await ControlClient.connect(device.controlPath);
    const { report, rates } = await sampleStatus(client, await readStatus(client), SAMPLE_MS);
    client.close();
    return renderStatus(report, rates);
  } finally {
    await guest.port(PORT).write('go on\n');
  }
}

function conclude(report: FirstLightReport, end: SessionEnd): void {
  if (end.deviceFailure !== undefined)
    throw new SetupError(`${describeDeviceExit(end.deviceFailure)}; please report this.`);
  if (end.guest.status !== 0) throw new SetupError(describeGuestExit(end.guest));
  if (end.complaints.length > 0) throw new SetupError(`the guest's kernel complained: ${end.complaints[0].line}`);
  const failure = report.findFailure();
  if (failure !== undefined) throw new SetupError(failure);
  report.sayTotals();
}
