import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { concatBytes, fromHex, toHex } from '../../../core/bytes.ts'
import { slotHash, tag } from '../../../core/commitment/event-format.ts'
import { parseCheckpoint } from '../../../core/log/checkpoint.ts'
import { HistoryCheck, logKeysOf, verifyEvent, verifyLog } from '../../../core/verify/index.ts'
import type { VerificationRule } from '../../../core/rules.ts'
import { wireEvents, type WireEvent } from '../../support/wire-event.ts'
import { openFilledRegistry, type FilledRegistry } from '../../support/sealed-registry.ts'
import { present } from '../../support/present.ts'
import { SLOT_KEY, ForgedLog, forgeEvent } from './forger.ts'

const REJECTED = { code: 'VERIFICATION_FAILED' }

const rangesOf = ({ pinned }: ForgedLog) => pinned.map(({ vkey, from, until }) => ({ vkey, from, until }))

describe('verifyLog', () => {
  let sealed: FilledRegistry
  let events: WireEvent[]

  before(async () => {
    sealed = await openFilledRegistry()
    const page = await sealed.registry.evidences.get(sealed.scope, sealed.filled.drill, { disclose: true })
    events = wireEvents(page.events)
  })
  after(() => sealed.close())

  const flip = (text: string, at = Math.floor(text.length / 2)): string =>
    text.slice(0, at) + (text[at] === '1' ? '2' : '1') + text.slice(at + 1)

  const openingsOf = async (size: number): Promise<Uint8Array[]> =>
    ((await sealed.registry.log.openings({ index: 0, width: size })) ?? []).map((opening) => present(fromHex(opening)))

  it('computes the signed root from the openings of all entries, and collects every slot', async () => {
    const note = present(await sealed.registry.log.latestCheckpoint())
    const { size, root } = parseCheckpoint(note)
    const log = verifyLog(await openingsOf(size), { checkpoint: note, origin: sealed.registry.log.origin })
    assert.deepEqual([log.size, log.root], [size, toHex(root)])
    assert.deepEqual(log.verifierKeys, [sealed.registry.log.verifierKey])
    assert.ok(log.tokens.size >= 1)
    // A history without its last version is accepted by itself, but its next slot is in the log.
    const history = new HistoryCheck()
    const verified = events.slice(0, -1).map(({ disclosure, txId }) => verifyEvent(disclosure, { txId }))
    for (const event of verified) history.add(event)
    const slotKey = verified[0]?.fields.get('slotKey')
    assert.ok(typeof slotKey === 'string')
    const isIn = (version: number): boolean => log.slots.has(toHex(slotHash(present(fromHex(slotKey)), version)))
    assert.deepEqual([1, 2, 3, 4, 5, 6].map(isIn), [true, true, true, true, true, false])
  })

  it('rejects entries that are missing, swapped, changed or forked, and another origin', async () => {
    const checkpoint = present(await sealed.registry.log.latestCheckpoint())
    const { size } = parseCheckpoint(checkpoint)
    const openings = await openingsOf(size)
    const [key, first, second, ...rest] = openings as [Uint8Array, Uint8Array, Uint8Array, ...Uint8Array[]]
    const changed = first.slice()
    changed[60] = (changed[60] ?? 0) ^ 1
    const broken = [
      openings.slice(0, -1),
      [...openings, first],
      [key, second, first, ...rest],
      [key, changed, second, ...rest],
      [key, first, first, ...rest],
      [first, second, ...rest],
      [key, first, new Uint8Array(120), ...rest],
      [],
    ]
    for (const log of broken) assert.throws(() => verifyLog(log, { checkpoint }), REJECTED)
    assert.throws(() => verifyLog(openings, { checkpoint, origin: 'another/log' }), REJECTED)
    assert.throws(() => verifyLog(openings, { checkpoint: flip(checkpoint) }), REJECTED)
  })
})

/** Every hash and signature below is correct, so that exactly one rule is left that can reject the forgery. */

const log = new ForgedLog()

const rejects = (check: () => unknown, rule: VerificationRule): void =>
  assert.throws(check, { code: 'VERIFICATION_FAILED', rule })

describe('forged logs', () => {
  const event = (version: number): Uint8Array =>
    forgeEvent({ origin: log.origin, slotKey: SLOT_KEY, version, time: version }).opening
  const honest = (): ForgedLog => {
    const made = new ForgedLog()
    made.add(event(1))
    made.add(event(2))
    return made
  }

  it('are accepted if no rule is broken', () => {
    const made = honest()
    made.addKey()
    made.add(event(3))
    const verified = verifyLog(made.openings, { checkpoint: made.checkpoint(), origin: made.origin })
    assert.deepEqual(verified.keys, rangesOf(made))
    assert.equal(verified.slots.size, 3)
  })

  it('are rejected: two events in one slot', () => {
    const made = honest()
    made.add(forgeEvent({ origin: log.origin, slotKey: SLOT_KEY, version: 2, time: 7 }).opening)
    rejects(() => verifyLog(made.openings, { checkpoint: made.checkpoint() }), 'log.forked')
  })

  const verifyWith = (opening: Uint8Array) => {
    const made = honest()
    made.add(opening)
    made.add(event(3))
    return verifyLog(made.openings, { checkpoint: made.checkpoint() })
  }

  it('are accepted with entries of kinds that a later version may add, which are counted', () => {
    for (const name of ['er1.unknown', 'er1.events', 'er1.filesystem', 'er1.abcdefghijkl'])
      for (const length of [0, 104, 70_000]) {
        const { size, slots, skipped } = verifyWith(concatBytes(tag(name), new Uint8Array(length)))
        assert.deepEqual([size, slots.size, skipped], [5, 3, 1], name)
      }
  })

  it('are rejected: an entry before the first key, a known kind of another length, and what is not a kind', () => {
    const late = new ForgedLog([event(1)])
    rejects(() => verifyLog(late.openings, { checkpoint: late.checkpoint() }), 'keys.order')
    const names = ['event', 'token', 'field', 'file', 'files', 'header', 'slot', 'origin', 'receipt', 'ledger.block']
    const padded = [...names.map((name) => `er1.${name}`), 'er1.', 'er2.event', 'er1.a\0b', 'er1.ä', '']
    const openings = padded.map((name) => concatBytes(tag(name), new Uint8Array(31)))
    for (const opening of [...openings, tag('er1.note').subarray(0, 15)])
      rejects(() => verifyWith(opening), 'log.unknown-entry')
    rejects(() => verifyWith(concatBytes(tag('er1.key'), new Uint8Array(20_000))), 'keys.malformed')
  })

  it('are rejected: a checkpoint that a retired key or a key not yet in the log signed', () => {
    const made = honest()
    made.addKey()
    made.add(event(3))
    rejects(
      () => verifyLog(made.openings, { checkpoint: made.checkpoint(made.tree.size, { key: 0 }) }),
      'checkpoint.key-retired',
    )
    const early = made.checkpoint(2, { key: 1 })
    rejects(() => verifyLog(made.openings.slice(0, 2), { checkpoint: early }), 'checkpoint.not-signed')
  })

  it('are rejected: key entries in another order, and an event without a possible time', () => {
    const made = honest()
    made.addKey()
    const entries = made.keys.map(({ position }) => ({ opening: made.openings[position] ?? event(1), position }))
    assert.deepEqual(logKeysOf(made.origin, entries), rangesOf(made))
    const moved = entries.map((entry) => ({ ...entry, position: 0 }))
    rejects(() => logKeysOf(made.origin, moved), 'keys.order')
    const late = event(3).fill(0xff, 48, 56)
    made.add(late)
    rejects(() => verifyLog(made.openings, { checkpoint: made.checkpoint() }), 'event.opening')
  })

  it('are rejected: another origin, size or root', () => {
    const made = honest()
    const checkpoint = made.checkpoint()
    rejects(() => verifyLog(made.openings, { checkpoint, origin: 'another/log' }), 'keys.other-log')
    rejects(() => verifyLog(made.openings.slice(0, -1), { checkpoint }), 'log.size-differs')
    const swapped = [...made.openings.slice(0, -1), event(7)]
    rejects(() => verifyLog(swapped, { checkpoint }), 'log.root-differs')
  })
})
