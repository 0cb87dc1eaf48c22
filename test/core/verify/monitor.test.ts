import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  LogMonitor,
  MemorySlots,
  parsePolicy,
  type LogSource,
  type MonitorState,
  type Policy,
} from '../../../core/verify/index.ts'
import { tokens } from '../../../core/verify/tokens.ts'
import { openBundleRegistry } from '../../support/bundle-fixture.ts'
import { logSourceOf } from '../../support/log-source.ts'
import { present } from '../../support/present.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { forgeEvent, ForgedLog, SLOT_KEY } from './forger.ts'
import { ForgedWitness } from './forged-witness.ts'

const MINUTE_MS = 60_000

/** A log that somebody made, as a monitor reads it. */
class ForgedSource implements LogSource {
  log: ForgedLog
  /** Positions from which openings were requested. */
  readonly requested: number[] = []
  note: (() => string) | undefined
  isSilent = false

  constructor(log: ForgedLog) {
    this.log = log
  }

  async checkpoint(): Promise<string> {
    if (this.isSilent) throw new Error('no response')
    return this.note?.() ?? this.log.checkpoint()
  }

  async *openings(from: number, to: number): AsyncGenerator<readonly Uint8Array[]> {
    this.requested.push(from)
    for (let at = from; at < to; at += 2) yield this.log.openings.slice(at, Math.min(to, at + 2))
  }

  bundle(): Promise<string> {
    return Promise.reject(new Error('there are no bundles'))
  }
}

const event = (log: ForgedLog, version: number, time = version): Uint8Array =>
  forgeEvent({ origin: log.origin, slotKey: SLOT_KEY, version, time }).opening

/** The same first key each time, and so the same origin. */
function logOf(...times: readonly number[]): ForgedLog {
  const log = new ForgedLog()
  for (const [i, time] of times.entries()) log.add(event(log, i + 1, time))
  return log
}

function monitorOf(source: LogSource, policy: Pick<Policy, 'keys' | 'witnesses'>, state?: MonitorState) {
  let now = 1_000 * MINUTE_MS
  const slots = new MemorySlots()
  const monitor = new LogMonitor({ source, policy, slots, state, now: () => now })
  const kinds = async () => (await monitor.round()).map(({ kind }) => kind)
  return { monitor, slots, kinds, pass: (minutes: number) => (now += minutes * MINUTE_MS) }
}

describe('a monitor', () => {
  it('reads each entry once, and goes on from its saved state', async () => {
    const log = logOf(1, 2, 3)
    const source = new ForgedSource(log)
    const first = monitorOf(source, { keys: log.pinned })
    assert.deepEqual([await first.kinds(), await first.kinds()], [[], []])
    log.add(event(log, 4))
    const saved: MonitorState = JSON.parse(JSON.stringify(first.monitor.state))
    const next = monitorOf(source, { keys: log.pinned }, saved)
    assert.deepEqual(await next.kinds(), [])
    assert.deepEqual([source.requested, next.monitor.state.verified?.size], [[0, 4], 5])
  })

  it('follows a rotation, also if only the first key is pinned', async () => {
    const log = logOf(1)
    const [first] = log.keys
    const keys = [{ vkey: present(first).signer.verifierKey }]
    const { kinds, monitor } = monitorOf(new ForgedSource(log), { keys })
    assert.deepEqual(await kinds(), [])
    log.addKey()
    log.add(event(log, 2))
    assert.deepEqual(await kinds(), [])
    assert.equal(monitor.state.verified?.keys.length, 2)
  })

  it('proves a fork by two checkpoints, of one size and of another, and forgets what it read of it', async () => {
    for (const other of [logOf(1, 2, 7), logOf(1, 2, 7, 8)]) {
      const log = logOf(1, 2, 3)
      const source = new ForgedSource(log)
      const { kinds, monitor, slots } = monitorOf(source, { keys: log.pinned })
      await kinds()
      const before = log.checkpoint()
      source.log = other
      const [alarm] = await monitor.round()
      assert.deepEqual([alarm?.kind, alarm?.notes], ['fork', [before, other.checkpoint()]])
      assert.deepEqual(await kinds(), ['fork'])
      assert.equal(await slots.has(event(log, 4).subarray(16, 48)), false)
      source.log = log
      log.add(event(log, 4))
      assert.deepEqual(await kinds(), [], 'the log that it knows goes on')
    }
  })

  it('takes nothing that it could not verify for the history of the log', async () => {
    const log = logOf(1, 2)
    const [own, other] = [log, logOf(1, 2, 7)].map((each) => monitorOf(new ForgedSource(each), { keys: each.pinned }))
    await own?.kinds()
    await other?.kinds()
    const state = { ...own?.monitor.state, read: present(other?.monitor.state.verified), doubles: [3] }
    log.add(event(log, 3))
    log.add(event(log, 4))
    const { kinds, monitor } = monitorOf(new ForgedSource(log), { keys: log.pinned }, state)
    assert.deepEqual([await kinds(), monitor.state.verified?.size], [[], 5])
  })

  it('says that an event is late, too, if the log does not show its proof, and gets others', async () => {
    const log = logOf(1)
    const { kinds, pass } = monitorOf(new ForgedSource(log), { keys: log.pinned })
    assert.deepEqual(await kinds(), [])
    pass(59)
    log.add(event(log, 2))
    assert.deepEqual(await kinds(), [])
    pass(1)
    assert.deepEqual(await kinds(), ['late'])
  })

  it('alarms while too few witnesses have cosigned the checkpoint', async () => {
    const log = logOf(1)
    const source = new ForgedSource(log)
    const witness = new ForgedWitness('witness', 5)
    const witnesses = { threshold: 1, members: [witness.pinned] }
    const { kinds } = monitorOf(source, { keys: log.pinned, witnesses })
    assert.deepEqual(await kinds(), ['witnesses'])
    source.note = () => `${log.checkpoint()}${witness.cosign(log.checkpoint())}\n`
    assert.deepEqual(await kinds(), [])
  })

  it('has read nothing whose slots could not be kept', async () => {
    const log = logOf(1)
    const { monitor, slots, kinds } = monitorOf(new ForgedSource(log), { keys: log.pinned })
    slots.add = () => Promise.reject(new Error('the disk is full'))
    await assert.rejects(kinds(), { message: 'the disk is full' })
    assert.deepEqual(monitor.state, {})
  })

  it('saves what it has read after each 65,536 events', async () => {
    const log = logOf()
    const opening = event(log, 1)
    for (let i = 0; i < 65_537; i++) {
      const other = opening.slice()
      new DataView(other.buffer).setUint32(16, i)
      log.add(other)
    }
    const saved: (number | undefined)[] = []
    const save = async ({ verified, read = verified }: MonitorState) => void saved.push(read?.size)
    const [source, policy] = [new ForgedSource(log), { keys: log.pinned }]
    await new LogMonitor({ source, policy, slots: new MemorySlots(), save }).round()
    assert.deepEqual(saved, [65_537, 65_538])
  })

  it('notices a smaller tree than before', async () => {
    const log = logOf(1, 2, 3)
    const source = new ForgedSource(log)
    const { kinds } = monitorOf(source, { keys: log.pinned })
    await kinds()
    source.note = () => log.checkpoint(3)
    assert.deepEqual(await kinds(), ['roll-back'])
  })

  it('names the second event of a slot in each round', async () => {
    const log = logOf(1, 2)
    log.add(event(log, 2, 9))
    const { monitor } = monitorOf(new ForgedSource(log), { keys: log.pinned })
    for (let round = 0; round < 2; round++) {
      const [alarm, ...others] = await monitor.round()
      assert.deepEqual([alarm?.kind, others], ['double-slot', []])
      assert.match(alarm?.text ?? '', /^Entry 3 /)
    }
  })

  it('accepts no checkpoint that its policy does not, and keeps what it knew', async () => {
    const log = logOf(1, 2)
    const source = new ForgedSource(log)
    const { kinds, monitor } = monitorOf(source, { keys: log.pinned })
    await kinds()
    const { verified } = monitor.state
    const thief = logOf(1, 2, 3)
    const { verifierKey: vkey } = thief.addKey(99).signer
    source.log = thief
    source.note = () => thief.checkpoint(thief.tree.size, { key: 0 })
    assert.deepEqual(await kinds(), ['invalid'], 'the key is retired by its own log')
    source.note = () => log.checkpoint().replace(/.{8}=$/m, 'AAAAAAA=')
    assert.deepEqual([await kinds(), monitor.state.verified], [['invalid'], verified])
    const missing = monitorOf(new ForgedSource(log), { keys: [...log.pinned, { vkey }] })
    assert.deepEqual(await missing.kinds(), ['invalid'], 'the log does not hold a pinned key')
  })

  it('misses witnesses whose cosignatures are old, as if a log always shows the same checkpoint', async () => {
    const log = logOf(1)
    const source = new ForgedSource(log)
    const witness = new ForgedWitness('wit.example/w', 7)
    let minute = 1_000
    source.note = () => `${log.checkpoint()}${witness.cosign(log.checkpoint(), minute * 60)}\n`
    const witnesses = { threshold: 1, members: [witness.pinned] }
    const { kinds, pass } = monitorOf(source, { keys: log.pinned, witnesses })
    pass(59)
    assert.deepEqual(await kinds(), [])
    pass(1)
    assert.deepEqual(await kinds(), ['witnesses'])
    minute += 60
    assert.deepEqual(await kinds(), [])
  })

  it('says that the log is silent at once if it was never seen, and later after a while', async () => {
    const log = logOf(1)
    const source = new ForgedSource(log)
    source.isSilent = true
    const { kinds, pass } = monitorOf(source, { keys: log.pinned })
    assert.deepEqual(await kinds(), ['silence'])
    source.isSilent = false
    await kinds()
    source.isSilent = true
    pass(59)
    assert.deepEqual(await kinds(), [])
    pass(1)
    assert.deepEqual(await kinds(), ['silence'])
  })
})

describe('a monitor of stamps and anchors', () => {
  const directory = temporaryOfSuite()

  it('says that the proof of an event is late, until it is there', async (t) => {
    const { registry, scope, evidence, settle, close } = await openBundleRegistry({ directory, anchor: 'evm' })
    t.after(close)
    await evidence()
    await registry.sealNow()
    let now = 0
    const source = logSourceOf(registry)
    const policy = parsePolicy(JSON.stringify(await registry.log.policy()))
    const monitor = new LogMonitor({ source, policy, slots: new MemorySlots(), tokens, now: () => now })
    const kinds = async () => (await monitor.round()).map(({ kind }) => kind)
    assert.deepEqual(await kinds(), [])
    now += 60 * MINUTE_MS
    assert.deepEqual(await kinds(), ['late'])
    await settle()
    assert.deepEqual([await kinds(), monitor.state.awaited], [[], undefined])
    await registry.evidences.erase(scope, 'e-1', { fields: ['name'], reason: 'request' })
    await registry.sealNow()
    assert.deepEqual([await kinds(), (now += 1_000 * MINUTE_MS), await kinds()], [[], now, []], 'it needs no stamp')
    await evidence({ externalId: 'e-2' })
    await settle()
    const other = present(monitor.state.proven)
    source.bundle = () => logSourceOf(registry).bundle(other)
    assert.deepEqual(await kinds(), ['invalid'], 'the proof of another event')
  })
})
