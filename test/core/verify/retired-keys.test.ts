import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeUtf8, encodeUtf8, toHex } from '../../../core/bytes.ts'
import { keyOpening, parseKeyOpening } from '../../../core/commitment/log-entry.ts'
import {
  parsePolicy,
  verifyBundle,
  type BundleResult,
  type PinnedKey,
  type VerifierMemory,
} from '../../../core/verify/index.ts'
import type { WitnessGroup } from '../../../core/verify/policy-text.ts'
import type { TokenVerifier } from '../../../core/verify/tokens.ts'
import { present } from '../../support/present.ts'
import { forgeBundle, type BundleParts, type Members } from './bundle-forger.ts'
import { ForgedLog, forgeEvent, ruleOf, type ForgedEvent } from './forger.ts'
import { ForgedWitness } from './forged-witness.ts'

/** Every key that was rotated out is stolen. The second one is marked. */

const ROTATIONS = 3
const RETIRED_AT = 1_000_000
const { origin } = new ForgedLog()
const eventOf = (fill: number): ForgedEvent =>
  forgeEvent({ origin, slotKey: new Uint8Array(32).fill(fill), version: 1, time: 1_000, fields: {} })

/** A log with two of these events after each key. Two such logs have the same keys. */
function logOf(events: readonly ForgedEvent[]): ForgedLog {
  const log = new ForgedLog()
  for (const [i, { opening }] of events.entries()) {
    if (i > 0 && i % 2 === 0) log.addKey()
    log.add(opening)
  }
  return log
}

const range = Array.from({ length: 2 * (ROTATIONS + 1) }, (_, i) => i)
const events = range.map((i) => eventOf(i))
const log = logOf(events)
const pinned: readonly PinnedKey[] = log.pinned.map((key, i) =>
  key.until === null ? key : { ...key, retiredAt: RETIRED_AT, compromised: i === 1 },
)
const authorities = [{ name: 'tsa', trustAnchors: [Uint8Array.of(1)] }]

/** Each token is the text of its time. */
const tokens: TokenVerifier = {
  certificatesIn: () => [],
  verifyToken: (der) => ({
    info: {
      genTime: Number(decodeUtf8(der)),
      notLaterThan: Number(decodeUtf8(der)),
      serialNumber: '01',
      policy: '1.2',
      hashAlgorithm: 'sha256',
      imprint: new Uint8Array(32),
    },
    certificates: [Uint8Array.of(1)],
    revocation: [],
    signerKey: 'signer',
  }),
}
const stampedAt = (time: number) => (): Members => ({ tokens: [Buffer.from(encodeUtf8(`${time}`)).toString('base64')] })
const verify = (bundle: Members, keys = pinned): BundleResult =>
  verifyBundle(JSON.stringify(bundle), { policy: { keys, authorities }, tokens })
/** Without the proofs that lead to the last trees of retired keys, as a bundle of before the rotation. */
const unled = (from: ForgedLog, event: ForgedEvent, parts: BundleParts = {}) => {
  const bundle = forgeBundle(from, [event], parts)
  for (const checkpoint of bundle.checkpoints) delete checkpoint['keyConsistency']
  return bundle
}
/** The sizes of all trees that a key may sign, from the first that holds an event. */
const sizesOf = ({ from = 1, until }: PinnedKey): readonly number[] =>
  Array.from({ length: (until ?? log.tree.size) - from + 1 }, (_, i) => from + i).filter((size) => size > 1)

describe('a tree that a retired key signed', () => {
  it("is the thief's: never proven, whatever size, proofs, stamps and anchors it has", () => {
    const forged = range.map((i) => eventOf(100 + i))
    const fork = logOf(forged)
    for (const [i, key] of pinned.slice(0, ROTATIONS).entries())
      for (const size of sizesOf(key)) {
        const event = present(forged.findLast((one) => fork.openings.slice(0, size).includes(one.opening)))
        const proofs = [undefined, [], fork.tree.consistencyProof(size, key.until ?? 0).map(toHex)]
        for (const keyConsistency of [...proofs, log.tree.consistencyProof(size, key.until ?? 0).map(toHex)]) {
          const bundle = unled(fork, event, { sizes: [size], attestations: stampedAt(RETIRED_AT + 1) })
          const [checkpoint] = bundle.checkpoints
          if (keyConsistency !== undefined) Object.assign(present(checkpoint), { keyConsistency })
          assert.deepEqual(ruleOf(verify(bundle)), ['retired-key'], `key ${i}, size ${size}`)
          assert.equal(verify(bundle, pinned.slice(-1)).state, 'retired-key', 'also if only the newest key is pinned')
          // Beside a tree of the log, it must be its beginning.
          const note = log.checkpoint()
          const both = { ...bundle, checkpoints: [checkpoint, { ...checkpoint, note, tokens: [] }] }
          assert.notEqual(verify(both).state, 'proven')
        }
      }
  })

  it('counts if it leads to the last tree of that key, also of one that is marked', () => {
    for (const key of pinned.slice(0, ROTATIONS))
      for (const size of sizesOf(key)) {
        const event = present(events.findLast((one) => log.openings.slice(0, size).includes(one.opening)))
        assert.equal(verify(forgeBundle(log, [event], { sizes: [size] })).state, 'proven')
        const later = log.tree.size
        assert.equal(verify(unled(log, event, { sizes: [size, later] })).state, 'proven', 'or to a tree that counts')
        assert.equal(verify(unled(log, event, { sizes: [size, later] }), pinned.slice(-1)).state, 'proven')
      }
  })

  it('counts if it was stamped before, unless the key is marked', () => {
    for (const [i, key] of pinned.slice(0, ROTATIONS).entries()) {
      const size = present(sizesOf(key)[0])
      const event = present(events.findLast((one) => log.openings.slice(0, size).includes(one.opening)))
      const stateAt = (time: number): string =>
        verify(unled(log, event, { sizes: [size], attestations: stampedAt(time) })).state
      assert.deepEqual(
        [stateAt(RETIRED_AT), stateAt(RETIRED_AT + 1)],
        [i === 1 ? 'retired-key' : 'proven', 'retired-key'],
      )
    }
  })

  it('counts if a quorum of witnesses had cosigned it before, unless the key is marked', () => {
    const [a, b] = [new ForgedWitness('a', 50), new ForgedWitness('b', 51)]
    const quorum = { threshold: 2, members: [a.pinned, b.pinned] }
    const RETIRED_S = RETIRED_AT / 1_000
    for (const [i, key] of pinned.slice(0, ROTATIONS).entries()) {
      const size = present(sizesOf(key)[0])
      const event = present(events.findLast((one) => log.openings.slice(0, size).includes(one.opening)))
      const stateAt = (seconds: readonly number[], witnesses: WitnessGroup = quorum): string => {
        const attestations = (note: string) => ({
          cosignatures: [a, b].map((one, at) => one.cosign(note, seconds[at])),
        })
        const text = JSON.stringify(unled(log, event, { sizes: [size], attestations }))
        return verifyBundle(text, { policy: { keys: pinned, witnesses } }).state
      }
      const late = [RETIRED_S, RETIRED_S + 1]
      assert.equal(stateAt([RETIRED_S, RETIRED_S]), i === 1 ? 'retired-key' : 'proven')
      assert.equal(stateAt(late), 'retired-key')
      assert.equal(stateAt(late, { ...quorum, threshold: 1 }), i === 1 ? 'retired-key' : 'proven')
      // A quorum that asks for no witness had seen nothing.
      const later = [a, b].map(({ pinned: witness }) => ({ ...witness, ranges: [{ from: size + 1, until: null }] }))
      for (const members of [[], later]) assert.equal(stateAt([1, 1], { threshold: 0, members }), 'retired-key')
    }
  })

  it('does not take part beside a tree that counts, if it is larger', () => {
    const [small, large] = sizesOf(present(pinned[2]))
    const bundle = unled(log, present(events[0]), { sizes: [present(small), present(large)] })
    Object.assign(present(bundle.checkpoints[0]), stampedAt(RETIRED_AT)())
    const result = verify(bundle)
    assert.equal(result.state, 'proven')
    assert.ok(result.unchecked.some(({ what }) => what === `the tree of ${large} entries`))
  })
})

describe('a key that the policy does not know', () => {
  const whole = forgeBundle(log, [present(events[0])])
  /** The policy when the key was the newest one. */
  const asOf = (i: number, more: Partial<PinnedKey> = {}): readonly PinnedKey[] => {
    const { vkey, from } = present(pinned[i])
    return [...pinned.slice(0, i), { vkey, ...(from !== undefined && { from }), until: null, ...more }]
  }
  const rotations = pinned.slice(0, ROTATIONS).map((_, i) => i)

  it('is introduced by the newest one of the policy, after any number of rotations, and a note names it', () => {
    const newest = `the key ${present(pinned.at(-1)).vkey}`
    for (const i of rotations)
      for (const keys of [asOf(i), asOf(i).slice(-1), [{ vkey: present(pinned[i]).vkey }]]) {
        const { state, unchecked } = verify(whole, keys)
        assert.deepEqual([state, unchecked.some(({ what }) => what === newest)], ['proven', true])
      }
    assert.equal(
      verify(whole).unchecked.some(({ what }) => what === newest),
      false,
    )
  })

  it('is not introduced by a key that is retired or marked', () => {
    for (const i of rotations)
      for (const keys of [pinned.slice(0, i + 1), asOf(i, { compromised: true })])
        assert.deepEqual(ruleOf(verify(whole, keys)), ['newer-key'])
    const [size] = sizesOf(present(pinned[0]))
    const both = unled(log, present(events[0]), { sizes: [present(size), log.tree.size] })
    const result = verify(both, asOf(0, { compromised: true }))
    assert.equal(result.state, 'proven', 'a tree of the pinned key holds it, too')
    assert.ok(result.unchecked.some(({ what }) => what === `the tree of ${log.tree.size} entries`))
    const own = { ...whole, claimedPolicy: { keys: [{ vkey: present(pinned[0]).vkey, until: 1 }] } }
    assert.deepEqual(ruleOf(verifyBundle(JSON.stringify(own))), ['checkpoint', 'keys.newer'], 'it contradicts itself')
  })

  it("is a thief's, if he has a retired key, whatever handovers he makes", () => {
    const forged = eventOf(200)
    const fork = logOf([forged])
    fork.addKey(77)
    for (const keys of [pinned, pinned.slice(-1), pinned.slice(0, 1), asOf(1)])
      assert.equal(verify(unled(fork, forged, { attestations: stampedAt(1) }), keys).state, 'newer-key')
    // His key hands over to the next key of the log, which he does not have.
    fork.addKey(1)
    for (const keys of [pinned.slice(1, 2), asOf(1), pinned])
      assert.equal(verify(unled(fork, forged, { sizes: [3], signer: () => 1 }), keys).state, 'retired-key')
  })

  it('signs its own trees only, and is signed by the key before', () => {
    const late = forgeBundle(log, [present(events[0])], { signer: () => 0 })
    assert.deepEqual(ruleOf(verify(late, asOf(0))), ['checkpoint', 'checkpoint.key-retired'])
    const stranger = new ForgedLog()
    stranger.add(present(events[0]).opening)
    const opening = keyOpening({ ...parseKeyOpening(present(log.openings[present(log.keys[1]).position])), sig: '00' })
    stranger.keys.push({ ...present(log.keys[1]), position: stranger.add(opening) })
    assert.deepEqual(ruleOf(verify(forgeBundle(stranger, [present(events[0])]), asOf(0))), ['keys', 'keys.handover'])
  })
})

describe('bundles that share a memory', () => {
  const verifyAll = (...bundles: readonly Members[]): readonly (string | undefined)[] => {
    const memory: VerifierMemory = new Map()
    const options = { policy: { keys: pinned }, memory }
    return bundles.map((bundle) => ruleOf(verifyBundle(JSON.stringify(bundle), options)).at(-1))
  }

  it('are not refuted because of a forged tree that does not count', () => {
    const forged = range.map((i) => eventOf(100 + i))
    const sizes = sizesOf(present(pinned[0])).slice(0, 1)
    const honest = forgeBundle(log, events.slice(0, 1), { sizes })
    const fork = unled(logOf(forged), present(forged[0]), { sizes })
    assert.deepEqual(verifyAll(fork, honest, fork, honest), ['retired-key', 'proven', 'retired-key', 'proven'])
  })

  it('are not refuted because of a tree that counted under another policy, or by its own word', () => {
    const forged = eventOf(100)
    const sizes = sizesOf(present(pinned[0])).slice(0, 1)
    const [honest, fork] = [forgeBundle(log, events.slice(0, 1), { sizes }), unled(logOf([forged]), forged, { sizes })]
    for (const policy of [undefined, { keys: [{ vkey: present(pinned[0]).vkey, until: null }] }]) {
      const memory: VerifierMemory = new Map()
      const under = policy === undefined ? { memory } : { policy, memory }
      assert.deepEqual(
        [
          verifyBundle(JSON.stringify(fork), under).state,
          verifyBundle(JSON.stringify(honest), { policy: { keys: pinned }, memory }).state,
        ],
        [policy === undefined ? 'consistent' : 'proven', 'proven'],
      )
    }
  })

  it('are refuted if two trees of one size count', () => {
    const newest = [{ vkey: present(pinned[0]).vkey, until: null }]
    const memory: VerifierMemory = new Map()
    const rules = [eventOf(0), eventOf(50)].map((event) =>
      ruleOf(verifyBundle(JSON.stringify(forgeBundle(logOf([event]), [event])), { policy: { keys: newest }, memory })),
    )
    assert.deepEqual(rules, [['proven'], ['checkpoint', 'log.forked']])
  })

  it('are refuted by a fork also after so much else was verified that results are forgotten', () => {
    const newest = [{ vkey: present(pinned[0]).vkey, until: null }]
    const memory: VerifierMemory = new Map()
    const stateOf = (event: ForgedEvent): readonly string[] =>
      ruleOf(verifyBundle(JSON.stringify(forgeBundle(logOf([event]), [event])), { policy: { keys: newest }, memory }))
    assert.deepEqual(stateOf(eventOf(0)), ['proven'])
    for (let i = 0; i < 10_000; i++) memory.set(`${i}`, { result: i })
    assert.deepEqual(stateOf(eventOf(50)), ['checkpoint', 'log.forked'])
    assert.ok(memory.size < 100, 'the rest is forgotten')
  })
})

describe('a policy', () => {
  it('names the root of the last tree and the time of a retired key', () => {
    const [first] = pinned
    const { root, retiredAt, ...key } = present(first)
    const members = { ...key, root: toHex(present(root)), retiredAt: new Date(present(retiredAt)).toISOString() }
    const parse = (more: object): readonly PinnedKey[] =>
      parsePolicy(JSON.stringify({ keys: [{ ...members, ...more }] })).keys
    assert.deepEqual(parse({}), [first])
    const times = ['yesterday', '2026-02-30T00:00:00Z', '2026-02-03T24:00:00Z'].map((time) => ({ retiredAt: time }))
    assert.throws(() => parse({ root: 'ab' }), { rule: 'value.malformed' })
    for (const wrong of [...times, { compromised: 1 }]) assert.throws(() => parse(wrong), { rule: 'form.value' })
  })
})
