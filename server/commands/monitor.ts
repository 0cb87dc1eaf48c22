import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { ALARM_KINDS, askFreshness, LogMonitor, type MonitorAlarm, type Policy } from '../../core/verify/index.ts'
import { tokens } from '../../core/verify/tokens.ts'
import { createClient } from '../client/index.ts'
import { baseUrlOf } from './client-command.ts'
import type { CommandInput } from './command.ts'
import { parseFlags, UsageError, type FlagValues } from './flags.ts'
import { MonitorDirectory } from './monitor-directory.ts'
import { openLogSource } from './monitor-source.ts'
import { printable, ProgressLine, whyUnreadable } from './terminal.ts'
import { mlDsa44For, readPolicy, readText } from './verify.ts'

const COMMAND = {
  name: 'monitor',
  operand: 'URL',
  description: `
Follows the log of a registry from outside, and needs no key: reads each entry once, and verifies that the log only
grows, that its keys sign it, that no history has two versions of one number, and that the witnesses, stamps and
anchors of your policy come in time. It prints a line of JSON for each alarm, with the checkpoints that prove it, when
it begins and when it ends. URL is the address of the service without /api/v1.`,
  flags: {
    policy: { value: 'FILE', isRequired: true, doc: 'what you pin, from a source that you trust, as for verify' },
    state: { value: 'DIR', isRequired: true, doc: 'a directory for what was read, 40 bytes an event' },
    once: { doc: 'one round, then end: 0 nothing is wrong, 1 an alarm' },
    interval: { value: 'SECONDS', doc: 'the pause between two rounds; default: 60' },
    patience: { value: 'MINUTES', doc: 'how late a stamp, anchor, cosignature or checkpoint may be; default: 60' },
    'on-alarm': { value: 'COMMAND', doc: 'is run by the shell for each alarm, with its line of JSON as input' },
    metrics: { value: 'FILE', doc: 'is replaced after each round, for the textfile collector of node_exporter' },
    ask: {
      value: 'BUNDLE',
      doc:
        'says from the state whether a later event exists than those of this bundle, without a request: 0 no, 1 yes, 3 ' +
        'unknown; the bundle needs history=true',
    },
  },
} as const

const CODES = '0 nothing is wrong; 1 an alarm; 2 wrong use; with --ask 0 fresh, 1 stale, 3 unknown'
const EXIT_USAGE = 2
const ASKED = { fresh: 0, stale: 1, unknown: 3 } as const

/** `evidence-registry monitor`. */
export async function monitorCommand({ args }: Pick<CommandInput, 'args'>): Promise<number> {
  try {
    const parsed = parseFlags(COMMAND, args, CODES)
    if (parsed === undefined) return 0
    const { operand: url, values } = parsed
    const policy = await readPolicy(values.policy)
    const directory = await MonitorDirectory.open(values.state)
    return values.ask === undefined
      ? await follow(url, values, policy, directory)
      : await ask(values.ask, policy, directory)
  } catch (error) {
    process.stderr.write(`evidence-registry monitor: ${printable(whyUnreadable(error))}\n`)
    return EXIT_USAGE
  }
}

async function ask(path: string, policy: Policy, slots: MonitorDirectory): Promise<number> {
  const monitor = (await slots.readState()) ?? {}
  const freshness = await askFreshness(await readText(path), { policy, tokens, monitor, slots })
  process.stdout.write(`${JSON.stringify(freshness)}\n`)
  return ASKED[freshness.state]
}

async function follow(
  url: string,
  { once: isOnce = false, interval, patience, 'on-alarm': command, metrics }: FlagValues<typeof COMMAND.flags>,
  policy: Policy,
  directory: MonitorDirectory,
): Promise<number> {
  const pauseMs = numberOf(interval ?? '60', '--interval') * 1000
  const progress = new ProgressLine()
  const monitor = new LogMonitor({
    source: openLogSource(createClient({ baseUrl: baseUrlOf(url) })),
    policy,
    tokens,
    mlDsa44: await mlDsa44For({ policy }),
    slots: directory,
    state: await directory.readState(),
    patienceMs: numberOf(patience ?? '60', '--patience') * 60_000,
    save: (state) => directory.saveState(state),
    onProgress: (read, size) => progress.show(`${read} of ${size} entries`),
  })
  let before: readonly MonitorAlarm[] = []
  for (;;) {
    const alarms = await monitor.round()
    for (const alarm of missingIn(before, alarms)) {
      const line = JSON.stringify({ time: new Date().toISOString(), alarm: alarm.kind, ...alarm })
      progress.print(line)
      if (command !== undefined) await run(command, line)
    }
    for (const { kind, text } of missingIn(alarms, before)) progress.print(JSON.stringify({ ended: kind, text }))
    if (metrics !== undefined) await writeFile(metrics, metricsOf(monitor, alarms))
    if (isOnce) return alarms.length > 0 ? 1 : 0
    before = alarms
    await sleep(pauseMs)
  }
}

/** The alarms that the others do not hold. */
const missingIn = (others: readonly MonitorAlarm[], alarms: readonly MonitorAlarm[]): readonly MonitorAlarm[] =>
  alarms.filter(({ kind, text }) => !others.some((other) => other.kind === kind && other.text === text))

/** Its failure is shown by the command itself: the monitor goes on. */
async function run(command: string, line: string): Promise<void> {
  const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'] })
  child.stdin.on('error', () => undefined)
  child.stdin.end(`${line}\n`)
  await once(child, 'close')
}

function metricsOf({ state }: LogMonitor, alarms: readonly MonitorAlarm[]): string {
  const lines = [
    '# TYPE evidence_monitor_entries gauge',
    `evidence_monitor_entries ${state.verified?.size ?? 0}`,
    '# TYPE evidence_monitor_seen_timestamp_seconds gauge',
    `evidence_monitor_seen_timestamp_seconds ${(state.seenAt ?? 0) / 1000}`,
    '# TYPE evidence_monitor_alarm gauge',
    ...ALARM_KINDS.map(
      (kind) => `evidence_monitor_alarm{kind="${kind}"} ${alarms.filter((alarm) => alarm.kind === kind).length}`,
    ),
  ]
  return `${lines.join('\n')}\n`
}

function numberOf(text: string, flag: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new UsageError(`${flag} must be a whole number from 1`)
}
