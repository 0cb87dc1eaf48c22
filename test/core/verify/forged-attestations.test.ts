import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import * as asn1js from 'asn1js'
import * as pkijs from 'pkijs'
import { decodeUtf8, encodeUtf8, toBase64, toHex } from '../../../core/bytes.ts'
import { entryOf, keyHandover, keyOpening } from '../../../core/commitment/log-entry.ts'
import { createNoteSigner } from '../../../core/log/note.ts'
import { blockHash, formatBlock, signedBytes, transactionOf } from '../../../core/verify/chain/ledger-block.ts'
import {
  isLocalTimeOnly,
  holdsTokens,
  needsMlDsa44,
  parsePolicy,
  verifyBundle,
  type BundleResult,
  type PinnedChain,
  type Policy,
  type VerificationRule,
  type VerifyBundleOptions,
} from '../../../core/verify/index.ts'
import { MAX_COST, tokens } from '../../../core/verify/tokens.ts'
import { mlDsa44 } from '../../../core/verify/ml-dsa.ts'
import type { Witness } from '../../../core/verify/policy-text.ts'
import { LOCAL_TEST_NOTICE } from '../../../core/verify/token-verifier.ts'
import { present } from '../../support/present.ts'
import { SyntheticEvm } from '../../support/synthetic-evm.ts'
import {
  authorityNamed,
  derOf,
  extension,
  response,
  signerUnder,
  type Issuer,
  type ResponseOptions,
} from '../../support/test-authority.ts'
import { crl, REASON } from '../../support/test-revocation.ts'
import { entryAt, forgeBundle, type BundleParts, type ForgedBundle, type Members } from './bundle-forger.ts'
import { ForgedLog, forgeEvent, ruleOf } from './forger.ts'
import { ForgedWitness } from './forged-witness.ts'

/** Every hash and signature here is correct, so that exactly one rule is left that can refute the bundle. */

const log = new ForgedLog()
const event = forgeEvent({ origin: log.origin, slotKey: new Uint8Array(32), version: 1, time: 1_000, fields: {} })
log.add(event.opening)
const SMALL = log.tree.size
const SECOND_KEY = log.addKey()
const LARGE = log.tree.size

const bundleOf = (parts: BundleParts = {}, from = log): ForgedBundle => forgeBundle(from, [event], parts)
const verify = (bundle: Members, policy: Partial<Policy> = {}, options: VerifyBundleOptions = {}): BundleResult =>
  verifyBundle(JSON.stringify(bundle), { policy: { keys: log.pinned, ...policy }, tokens, ...options })

const assertRefuted = (result: BundleResult, rule: VerificationRule): void =>
  assert.equal(ruleOf(result).at(-1), rule, 'reason' in result ? result.reason : '')

/** It contradicts nothing. */
function assertBeyondLimit(result: BundleResult): void {
  assert.deepEqual([result.state, ...ruleOf(result)], ['unreadable', 'attestations', 'limit.signatures'])
}

/** It does not count, which is said, and it refutes nothing: without it the bundle would not be worth more. */
function assertUncounted(result: BundleResult, rule: VerificationRule): void {
  assert.ok('claims' in result, 'reason' in result ? result.reason : '')
  assert.ok(
    result.unchecked.some((one) => one.rule === rule),
    JSON.stringify(result.unchecked),
  )
}

function assertMissing(result: BundleResult, reason: RegExp): void {
  assert.equal(result.state, 'requirement')
  assert.match('reason' in result ? result.reason : '', reason)
}

function eventClaims(result: BundleResult) {
  assert.ok(!('reason' in result), 'reason' in result ? result.reason : '')
  return eventClaimsOf(result)
}

function eventClaimsOf(result: BundleResult) {
  assert.ok('claims' in result)
  return present(result.claims.events[0])
}

const whyUnchecked = ({ unchecked }: BundleResult, what: RegExp): string | undefined =>
  unchecked.find((one) => what.test(one.what))?.why

describe('forged checkpoints and keys in bundles', () => {
  const sizes = [SMALL, LARGE]

  it('prove the smallest tree that holds the event if no rule is broken', () => {
    const result = verify(bundleOf({ sizes }))
    assert.equal(result.state, 'proven')
    assert.deepEqual(eventClaims(result).log, { position: 1, treeSize: SMALL })
    assert.equal(whyUnchecked(result, /retired keys/), undefined)
  })

  it('say if the policy does not pin when a key was retired', () => {
    const keys = log.pinned.map(({ vkey, from }) => ({ vkey, from }))
    assert.match(whyUnchecked(verify(bundleOf({ sizes }), { keys }), /retired keys/) ?? '', /up to which tree size/)
  })

  it('say if the policy marks the newest key as known to others', () => {
    const keys = log.pinned.map((key) => ({ ...key, compromised: true }))
    const result = verify(bundleOf({ sizes: [LARGE] }), { keys })
    assert.equal(result.state, 'proven')
    assert.match(whyUnchecked(result, /^the key /) ?? '', /others may know it/)
  })

  it('know tokens also by an escaped name', () => {
    const text = JSON.stringify(bundleOf({ attestations: () => ({ tokens: ['AAAA'] }) }))
    for (const name of ['tokens', '\\u0074okens', 'to\\u006Bens']) assert.ok(holdsTokens(text.replace('tokens', name)))
    assert.equal(holdsTokens(JSON.stringify(bundleOf())), false)
  })

  it('are refuted: the keys or a checkpoint of another log', () => {
    const keys = [...log.pinned, { vkey: createNoteSigner('other/log', new Uint8Array(32).fill(7)).verifierKey }]
    const pending = { ...bundleOf({ sizes: [], withHeaders: false }), origin: 'other/log' }
    assertRefuted(verify(pending, { keys }), 'keys.other-log')
    const mixed = bundleOf({ sizes })
    const text = log.checkpoint(SMALL, { key: 0 }).split('\n').slice(1, 3).join('\n')
    const signer = createNoteSigner('other/log', new Uint8Array(32).fill(7))
    present(mixed.checkpoints[0])['note'] = signer.signNote(`other/log\n${text}\n`)
    assertRefuted(verify(mixed, { keys }), 'checkpoint.other-log')
    assert.equal(verify(bundleOf(), { keys: keys.slice(-1) }).state, 'other-log')
  })

  it('may have extension lines, and signature lines of others', () => {
    const own = log.checkpoint()
    const stranger = createNoteSigner('stranger', new Uint8Array(32).fill(77)).signNote('x\n').split('\n')[2] ?? ''
    const noteOf = (note: string): BundleResult => verify(bundleOf({ attestations: () => ({ note }) }))
    const extended = log.checkpoint(LARGE, { extension: 'extension\n' })
    for (const note of [`${own}${stranger}\n`, `${own}${stranger.replace('stranger', log.origin)}\n`, extended])
      assert.equal(noteOf(note).state, 'proven')
    const [signature = ''] = own.split('\n').slice(4)
    const signed = (text: string): string => present(log.keys[1]).signer.signNote(text)
    const [, , root = ''] = own.split('\n')
    const forgeries: readonly (readonly [string, VerificationRule])[] = [
      [`${own}${signature}\n`, 'checkpoint.signed-twice'],
      [own.replace(signature, stranger), 'checkpoint.not-signed'],
      [own.replace(signature, `${signature.slice(0, -8)}AAAAAAA=`), 'checkpoint.signature'],
      [signed(`${log.origin}\n0${LARGE}\n${root}\n`), 'checkpoint.malformed'],
      [signed(`${log.origin}\n${LARGE}\n${root}AAAA\n`), 'checkpoint.malformed'],
      [signed(`${log.origin}\n${LARGE}\n${root}\n\nextension\n`), 'checkpoint.malformed'],
    ]
    for (const [note, rule] of forgeries) assertRefuted(noteOf(note), rule)
  })

  it('are refuted: sizes that do not ascend', () => {
    assertRefuted(verify(bundleOf({ sizes: [SMALL, SMALL] })), 'checkpoint.order')
    assertRefuted(verify(bundleOf({ sizes: [LARGE, SMALL] })), 'checkpoint.order')
  })

  it('are refuted: a key that was retired or has no entry', () => {
    const unpinned = { keys: log.pinned.map(({ vkey }) => ({ vkey })) }
    const retired = bundleOf({ sizes: [LARGE], signer: () => 0 })
    assertRefuted(verify(retired, unpinned), 'checkpoint.key-retired')
    // A key may sign the tree that ends before the next key's entry.
    assert.equal(SECOND_KEY.position, SMALL)
    assert.equal(verify(bundleOf({ sizes: [SMALL], signer: () => 0 }), unpinned).state, 'proven')
    const bundle = bundleOf({ sizes })
    assertRefuted(verify({ ...bundle, keys: bundle.keys.slice(0, 1) }), 'checkpoint.key-not-proven')
    const second = { ...bundle.keys[1], inclusion: [] }
    assertRefuted(verify({ ...bundle, keys: [bundle.keys[0], second] }), 'checkpoint.key-not-proven')
    const [inclusion] = present(bundle.keys[1])['inclusion'] as readonly Members[]
    const elsewhere = { ...bundle.keys[1], inclusion: [{ ...inclusion, path: ['a'.repeat(64)] }] }
    assertRefuted(verify({ ...bundle, keys: [bundle.keys[0], elsewhere] }), 'inclusion.root-differs')
    const early = bundleOf({ sizes: [SMALL], signer: () => 1 })
    assertRefuted(verify(early, unpinned), 'checkpoint.key-not-proven')
  })

  it('are refuted: a first key that is not entry 0', () => {
    const late = new ForgedLog([event.opening])
    const bundle = forgeBundle(late, [event])
    assertRefuted(verify(bundle, { keys: late.pinned }), 'keys.order')
  })

  it('are refuted: a key whose entry is before that of the previous key', () => {
    const [first, second, third] = [1, 2, 3].map((seed) => new Uint8Array(32).fill(seed))
    const swapped = new ForgedLog()
    const signers = [first, second, third].map((seed) => createNoteSigner(swapped.origin, present(seed)))
    const openings = [present(swapped.openings[0])]
    for (const [i, { verifierKey: vkey }] of signers.slice(1).entries()) {
      const unsigned = { log: swapped.origin, prev: toHex(entryOf(present(openings.at(-1)))), vkey }
      openings.push(keyOpening({ ...unsigned, sig: toHex(present(signers[i]).sign(keyHandover(unsigned))) }))
    }
    for (const opening of openings.slice(1).toReversed()) swapped.add(opening)
    const positions = [0, 2, 1]
    swapped.add(event.opening)
    const bundle = forgeBundle(swapped, [event], { sizes: [] })
    const keys = positions.map((position) => ({ ...entryAt(swapped, position, []), inclusion: [] }))
    assertRefuted(verify({ ...bundle, keys }), 'keys.order')
  })

  it('are refuted: an entry that is proven under a checkpoint that the bundle lacks', () => {
    const bundle = bundleOf({ sizes })
    const { inclusion } = present(bundleOf({ sizes: [LARGE] }).events[0])
    const events = [{ ...bundle.events[0], inclusion }]
    assert.equal(verify({ ...bundle, events }).state, 'proven')
    assertRefuted(verify({ ...bundleOf({ sizes: [SMALL] }), events }), 'inclusion.no-checkpoint')
    assertRefuted(verify({ ...bundle, events: [{ ...events[0], position: 2 }] }), 'inclusion.root-differs')
  })
})

describe('witnesses of bundles', () => {
  const witness = new ForgedWitness('witness', 5)
  const witnesses = { threshold: 1, members: [witness.pinned] }
  const required = { require: ['witnesses'] } as const
  const withLines = (linesOf: (note: string) => readonly string[]): ForgedBundle =>
    bundleOf({ attestations: (note) => ({ cosignatures: linesOf(note) }) })
  const cosignedBy = (...cosigners: readonly ForgedWitness[]): ForgedBundle =>
    withLines((note) => cosigners.map((one) => one.cosign(note)))
  const other = log.checkpoint(1, { key: 0 })
  const assuranceOf = (bundle: Members, policy: Partial<Policy>): string | undefined =>
    eventClaims(verify(bundle, policy)).assurance

  it('are missing only if they are required', () => {
    const cosigned = cosignedBy(witness)
    const claims = eventClaims(verify(cosigned, { witnesses }, required))
    assert.deepEqual(claims.witnesses, [{ name: 'witness', time: 1_700_000_000_000 }])
    assert.deepEqual([claims.isWitnessed, claims.assurance], [true, 'witnessed by 1 of 1'])
    assertMissing(verify(bundleOf(), { witnesses }, required), /Too few/)
    assert.equal(verify(bundleOf(), { witnesses }).state, 'proven')
    assert.equal(assuranceOf(bundleOf(), { witnesses }), 'witnessed by 0 of 1, too few')
    for (const none of [{}, { witnesses: { threshold: 0, members: [] } }]) {
      assertMissing(verify(cosigned, none, required), /Too few/)
      assert.equal(assuranceOf(cosigned, none), undefined)
    }
  })

  it('refute by a cosignature that is wrong', () => {
    const wrong = withLines(() => [witness.cosign(other)])
    assertRefuted(verify(wrong, { witnesses }), 'witness.signature')
    assert.deepEqual(eventClaims(verify(wrong)).witnesses, [])
    const untimed = withLines((note) => [witness.cosign(note, 0)])
    const short = withLines((note) => [witness.cosign(note).slice(0, -8)])
    const late = withLines((note) => [witness.cosign(note, 253_402_300_800)])
    for (const bundle of [untimed, short, late]) assertRefuted(verify(bundle, { witnesses }), 'witness.malformed')
  })

  it('of one operator count once', () => {
    const [b, c] = [new ForgedWitness('b', 21), new ForgedWitness('c', 22)]
    const group = { threshold: 1, members: [witness.pinned, b.pinned] }
    const quorum = { threshold: 2, members: [group, c.pinned, new ForgedWitness('d', 23).pinned] }
    const policy = { witnesses: { threshold: 1, members: [quorum] } }
    assert.equal(assuranceOf(cosignedBy(witness, b), policy), 'witnessed by 1 of 3, too few')
    assert.equal(assuranceOf(cosignedBy(witness, c), policy), 'witnessed by 2 of 3')
    assertMissing(verify(cosignedBy(witness, b), policy, required), /Too few/)
  })

  it('are in use for the trees of their ranges, and for others nothing is missing', () => {
    const later = new ForgedWitness('later', 30)
    const inUse = (ranges: NonNullable<Witness['ranges']>, threshold = 1) => {
      const quorum = { threshold, members: [{ ...witness.pinned, ranges }, later.pinned] }
      return { witnesses: { threshold: 1, members: [quorum] } }
    }
    const members = [{ ...witness.pinned, ranges: [{ from: LARGE + 1, until: null }] }]
    const notYet = { witnesses: { threshold: 1, members } }
    assert.equal(verify(bundleOf(), notYet, required).state, 'proven')
    assert.equal(assuranceOf(bundleOf(), notYet), 'no witness was in use')
    // A cosignature of a witness that is not in use does not count, right or wrong.
    for (const cosigned of [cosignedBy(witness), withLines(() => [witness.cosign(other)])])
      assert.equal(assuranceOf(cosigned, inUse([])), 'witnessed by 0 of 1, too few')
    // A threshold is not more than the witnesses that are in use.
    assert.equal(assuranceOf(cosignedBy(later), inUse([{ from: 1, until: LARGE - 1 }], 2)), 'witnessed by 1 of 1')
    assert.equal(assuranceOf(cosignedBy(later), inUse([{ from: 1, until: LARGE }], 2)), 'witnessed by 1 of 2, too few')
  })

  it('with keys for ML-DSA-44 count if their cosignatures can be checked, and else as absent', () => {
    const modern = new ForgedWitness('modern.example/w', 31, 6)
    const policy = { witnesses: { threshold: 1, members: [modern.pinned] } }
    const [right, wrong] = [cosignedBy(modern), withLines(() => [modern.cosign(other)])]
    const checked = (bundle: Members): BundleResult => verify(bundle, policy, { ...required, mlDsa44 })
    assert.deepEqual(eventClaims(checked(right)).witnesses, [{ name: modern.name, time: 1_700_000_000_000 }])
    assertRefuted(checked(wrong), 'witness.signature')
    assertRefuted(checked(withLines((note) => [modern.cosign(note).slice(0, -8)])), 'witness.malformed')
    assertMissing(checked(withLines((note) => [modern.cosign(note, 0)])), /Too few/)
    for (const bundle of [right, wrong]) {
      const unchecked = verify(bundle, policy, required)
      assertMissing(unchecked, /Too few/)
      assert.match(whyUnchecked(unchecked, /cosignature of modern/) ?? '', /Type 06: .*verify\/ml-dsa/)
    }
    assert.deepEqual(
      [right, cosignedBy(witness), bundleOf()].map((bundle) => needsMlDsa44(policy, JSON.stringify(bundle))),
      [true, false, false],
    )
    assert.deepEqual([needsMlDsa44(policy), needsMlDsa44({ witnesses })], [true, false])
  })

  it('may cosign a larger tree, which holds the event, too', () => {
    const cosigned = (size: number): ForgedBundle =>
      bundleOf({
        sizes: [SMALL, LARGE],
        attestations: (note) => ({ cosignatures: note.split('\n')[1] === `${size}` ? [witness.cosign(note)] : [] }),
      })
    for (const size of [SMALL, LARGE])
      assert.equal(verify(cosigned(size), { witnesses }, required).state, 'proven', `${size}`)
    assertMissing(verify(cosigned(0), { witnesses }, required), /Too few/)
  })

  it('may cosign as many trees as a bundle has', () => {
    const long = new ForgedLog([])
    for (let i = 0; i < 800; i++) long.add(event.opening)
    const sizes = Array.from({ length: 800 }, (_, i) => i + 2)
    const cosigned = forgeBundle(long, [event], {
      sizes,
      attestations: (note) => ({ cosignatures: [witness.cosign(note)] }),
    })
    assert.equal(verify(cosigned, { keys: long.pinned, witnesses }).state, 'proven')
    // The maker of a bundle can make those of the witnesses that it claims.
    const claimedPolicy = {
      keys: long.pinned.map((key) => ({ vkey: key.vkey })),
      witnesses: witnesses.members,
      quorum: 'witness',
    }
    assertBeyondLimit(verifyBundle(JSON.stringify({ ...cosigned, claimedPolicy })))
  })

  it('are counted as are the signatures by which keys hand over', () => {
    const long = new ForgedLog()
    for (let i = 0; i < 1_000; i++) long.addKey()
    for (let i = 0; i < 501; i++) long.add(event.opening)
    const stateOf = (count: number): string =>
      verifyBundle(
        JSON.stringify(forgeBundle(long, [event], { sizes: Array.from({ length: count }, (_, i) => 1_002 + i) })),
      ).state
    assert.deepEqual([stateOf(500), stateOf(501)], ['consistent', 'unreadable'])
  })

  it('count by the groups of a policy text', () => {
    const cosigned = cosignedBy(witness)
    const line = `witness w ${witness.vkey} https://w.example`
    const lines = [`log ${present(log.pinned[1]).vkey}`, line, 'group all all w']
    const stateOf = (bundle: Members, quorum: string): string =>
      verify(bundle, parsePolicy([...lines, `quorum ${quorum}`, ''].join('\n'))).state
    assert.deepEqual([stateOf(cosigned, 'all'), stateOf(bundleOf(), 'none')], ['proven', 'proven'])
    assert.equal(stateOf(bundleOf(), 'all'), 'requirement')
  })

  it('and keys of the log of a type that cannot be used count as absent', () => {
    const unknown = (name: string): string => `${name}+01020304+${toBase64(Uint8Array.of(2, 7))}`
    const unusable = { threshold: 1, members: [...witnesses.members, { name: 'x', vkey: unknown('witness') }] }
    const cosigned = cosignedBy(witness)
    const keys = [...log.pinned, { vkey: unknown(log.origin) }]
    assert.equal(verify(cosigned, { keys, witnesses: unusable }, required).state, 'proven')
    assertMissing(verify(cosigned, { witnesses: { ...unusable, threshold: 2 } }, required), /Too few/)
    assert.equal(verify(cosigned, { keys: [{ vkey: unknown(log.origin) }] }).state, 'other-log')
  })
})

describe('forged anchors in bundles', () => {
  const ledger = createNoteSigner('ledger', new Uint8Array(32).fill(6))
  const local = { type: 'local', network: 'ledger', chainId: 0, account: toHex(ledger.publicKey) }
  const NOTE = log.checkpoint()

  /** A block of a local ledger that holds these bytes. */
  function ledgerAnchor(input: Uint8Array, signer = ledger): Members {
    const transaction = transactionOf(new Uint8Array(16), input)
    const content = { height: 7, time: 5_000, previous: 'a'.repeat(64), transactions: [transaction] }
    const hash = blockHash(content)
    const { type, network, chainId } = local
    return {
      type,
      network,
      chainId,
      txHash: transaction.hash,
      blockNumber: 7,
      blockHash: hash,
      proof: decodeUtf8(formatBlock({ ...content, hash, signature: signer.sign(signedBytes(hash)) })),
    }
  }
  const withAnchor = (anchor: Members): ForgedBundle => bundleOf({ attestations: () => ({ anchors: [anchor] }) })
  const require = ['anchor'] as const
  const honest = ledgerAnchor(encodeUtf8(NOTE))

  it('prove the time of the block if no rule is broken', () => {
    const claims = eventClaims(verify(withAnchor(honest), { chains: [local] }, { require }))
    assert.equal(claims.notLaterThan, 5_000)
    // The anchored bytes are the note with the log's signature alone.
    const line = createNoteSigner('stranger', new Uint8Array(32).fill(77)).signNote('x\n').split('\n')[2] ?? ''
    const cosigned = bundleOf({ attestations: () => ({ anchors: [honest], cosignatures: [line] }) })
    assert.equal(eventClaims(verify(cosigned, { chains: [local] })).notLaterThan, 5_000)
    // The signature of the ledger decides, not a node.
    const asked = verify(withAnchor(honest), { chains: [local] }, { isBlockOnChain: () => false })
    assert.equal(asked.state, 'proven')
    assert.equal(whyUnchecked(asked, /the anchor/), undefined)
    const { proof: _, ...shown } = honest
    const states = { account: local.account, isLocalTest: true, blockTime: 5_000, isBlockFinal: true }
    assert.deepEqual(claims.anchors, [{ ...shown, ...states }])
  })

  const forgeries: Readonly<Record<string, readonly [Members, VerificationRule]>> = {
    'another checkpoint': [ledgerAnchor(encodeUtf8(log.checkpoint(SMALL, { key: 0 }))), 'anchor.checkpoint-differs'],
    'another account': [
      ledgerAnchor(encodeUtf8(NOTE), createNoteSigner('x', new Uint8Array(32).fill(8))),
      'anchor.signature',
    ],
    'another block': [{ ...honest, blockHash: 'b'.repeat(64) }, 'anchor.block-differs'],
    'another height': [{ ...honest, blockNumber: 8 }, 'anchor.block-differs'],
    'another transaction': [{ ...honest, txHash: 'b'.repeat(64) }, 'anchor.not-in-block'],
  }
  for (const [what, [anchor, rule]] of Object.entries(forgeries))
    it(`do not count: ${what}`, () => assertUncounted(verify(withAnchor(anchor), { chains: [local] }), rule))

  it('prove nothing on a chain that is not pinned', () => {
    const others: readonly PinnedChain[] = [
      { ...local, type: 'other' },
      { ...local, network: 'other' },
      { ...local, chainId: 1 },
    ]
    for (const chains of [[], ...others.map((chain) => [chain])]) {
      const result = verify(withAnchor(honest), { chains })
      assert.deepEqual(eventClaims(result).anchors, [])
      assert.equal(eventClaims(result).notLaterThan, undefined)
      assert.match(whyUnchecked(result, /the anchor in block 7/) ?? '', /No account of this chain is pinned/)
      assertMissing(verify(withAnchor(honest), { chains }, { require }), /has no verified anchor/)
    }
  })

  it('prove nothing if their type is not known, and need a key for a local ledger', () => {
    const chains = [{ ...local, type: 'other' }]
    const result = verify(withAnchor({ ...honest, type: 'other' }), { chains })
    assert.deepEqual(eventClaims(result).anchors, [])
    assert.match(whyUnchecked(result, /the anchor in block 7/) ?? '', /type other are not known/)
    assertUncounted(verify(withAnchor(honest), { chains: [{ ...local, account: 'x' }] }), 'anchor.account-differs')
  })

  describe('of an EVM chain', () => {
    let anchor: Members
    let chains: readonly PinnedChain[]
    before(async () => {
      const evm = new SyntheticEvm(9_000)
      const { type, network, chainId, account } = evm.info
      chains = [{ type, network, chainId, account: present(account) }]
      const prepared = await evm.prepare({ checkpoint: encodeUtf8(NOTE) })
      await evm.broadcast(prepared.raw)
      const [status] = await evm.status([prepared])
      assert.ok(status?.state === 'confirmed' && status.proof !== undefined)
      const { blockNumber, blockHash: hash, proof } = status
      anchor = { type, network, chainId, txHash: prepared.ref, blockNumber, blockHash: hash, proof: decodeUtf8(proof) }
    })

    it('prove a time only if a node knows the block', () => {
      const asked = verify(withAnchor(anchor), { chains }, { require, isBlockOnChain: () => true })
      assert.equal(eventClaims(asked).notLaterThan, 9_000)
      assert.equal(eventClaims(asked).anchors[0]?.isBlockFinal, true)
      for (const isBlockOnChain of [undefined, () => undefined]) {
        const result = verify(withAnchor(anchor), { chains }, isBlockOnChain && { isBlockOnChain })
        assert.equal(eventClaims(result).notLaterThan, undefined)
        assert.equal(eventClaims(result).anchors[0]?.isBlockFinal, false)
        assert.match(whyUnchecked(result, /the anchor in block 1/) ?? '', /Ask a node/)
      }
      assertMissing(verify(withAnchor(anchor), { chains }, { require }), /has no verified anchor/)
      const unknown = verify(withAnchor(anchor), { chains }, { isBlockOnChain: () => false })
      assertUncounted(unknown, 'anchor.not-on-chain')
    })

    it('do not count: hashes that are written in another way, another block number, a proof of null', () => {
      const upper = (name: string) => ({ [name]: String(anchor[name]).toUpperCase().replace('X', 'x') })
      for (const change of [upper('txHash'), upper('blockHash'), { proof: 'null' }])
        assertUncounted(verify(withAnchor({ ...anchor, ...change }), { chains }), 'anchor.malformed')
      assertUncounted(verify(withAnchor({ ...anchor, blockNumber: 2 }), { chains }), 'anchor.block-differs')
    })

    it('prove nothing without the proof of the block', () => {
      const proof = JSON.stringify({ ...JSON.parse(String(anchor['proof'])), inclusion: null })
      const result = verify(withAnchor({ ...anchor, proof }), { chains }, { isBlockOnChain: () => true })
      assert.deepEqual(eventClaims(result).anchors, [])
      assert.match(whyUnchecked(result, /the anchor in block 1/) ?? '', /ask a node of the chain/)
    })
  })
})

describe('forged timestamps in bundles', () => {
  const genTime = new Date('2026-06-01T12:00:00.000Z')
  let roots: readonly Issuer[]
  let signers: readonly Issuer[]
  let policy: Partial<Policy>
  before(async () => {
    roots = await Promise.all(['root a', 'root b', LOCAL_TEST_NOTICE].map((name) => authorityNamed(name)))
    signers = await Promise.all(roots.map((issuer, i) => signerUnder(issuer, { name: `signer ${i}` })))
    policy = {
      authorities: roots.map((root, i) => ({ name: `tsa ${i}`, trustAnchors: [derOf(root.certificate)] })),
    }
  })
  const tokenOf = async (signer: number, note: string, seconds = 0): Promise<string> =>
    tokenBy(present(signers[signer]), { data: encodeUtf8(note), accuracy: new pkijs.Accuracy({ seconds }) })
  const tokenBy = async (signer: Issuer, options: Partial<ResponseOptions> = {}): Promise<string> =>
    toBase64(await response({ signer, data: encodeUtf8(NOTE), genTime, ...options }))
  const withTokens = (...list: readonly string[]): ForgedBundle => bundleOf({ attestations: () => ({ tokens: list }) })
  const NOTE = log.checkpoint()

  it('prove the latest time that the token allows', async () => {
    const bundle = withTokens(await tokenOf(0, NOTE, 2))
    const claims = eventClaims(verify(bundle, policy, { require: ['timestamp'] }))
    assert.equal(claims.notLaterThan, genTime.getTime() + 2_000)
    const { authorities } = present(claims.timestamps[0])
    const names = authorities.map(({ name }) => name)
    assert.deepEqual(names, ['tsa 0'])
  })

  it('prove the same with the clock past every certificate', async (t) => {
    const bundle = withTokens(await tokenOf(0, NOTE))
    const result = verify(bundle, policy)
    t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2200, 0) })
    assert.deepEqual(verify(bundle, policy), result)
    assert.equal(result.state, 'proven')
  })

  it('prove nothing if no authority is pinned, or tokens are not checked', async () => {
    const bundle = withTokens(await tokenOf(0, NOTE))
    for (const [result, why] of [
      [verify(bundle), /No timestamp authority is pinned/],
      [verify(bundle, policy, { tokens: undefined }), /No token verifier/],
      [verify(forgeBundle(log, [event]), policy, { tokens: undefined }), /^It has no token$/],
    ] as const) {
      assert.equal(eventClaims(result).notLaterThan, undefined)
      assert.match(whyUnchecked(result, /timestamps of the tree of 3/) ?? '', why)
    }
    assertMissing(verify(bundle, {}, { require: ['timestamp'] }), /has no verified timestamp/)
  })

  it('prove no time by too few authorities, also if another token is wrong', async () => {
    const [a, b, wrong] = await Promise.all([tokenOf(0, NOTE), tokenOf(1, NOTE), tokenOf(1, 'another text')])
    const quorum = { ...policy, timestampQuorum: 2 }
    assert.equal(verify(withTokens(a, b), quorum).state, 'proven')
    assert.equal(eventClaimsOf(verify(withTokens(a), quorum)).notLaterThan, undefined)
    const stranger = await tokenBy(await signerUnder(await authorityNamed('stranger')))
    for (const list of [[], [a], [a, a], [a, wrong], [a, stranger]]) {
      const result = verify(withTokens(...list), quorum)
      assert.equal(result.state, 'proven')
      assert.equal(eventClaims(result).notLaterThan, undefined)
      const got = list.length === 0 ? /^It has no token$/ : /of 2 pinned authorities, and it has those of 1$/
      assert.match(whyUnchecked(result, /^timestamps of the tree of 3/) ?? '', got)
      assertMissing(verify(withTokens(...list), quorum, { require: ['timestamp'] }), /has no verified timestamp/)
    }
    assertUncounted(verify(withTokens(a, wrong), quorum), 'timestamp.data-differs')
    const result = verify(withTokens(a, wrong), policy)
    assert.equal(eventClaims(result).timestamps[0]?.authorities.length, 1)
    assert.match(whyUnchecked(result, /a timestamp of the tree of 3/) ?? '', /other data/)
  })

  it('count each authority by its earliest token, and need the latest one of a quorum', async () => {
    const at = (signer: number, hour: number): Promise<string> =>
      tokenBy(present(signers[signer]), { genTime: new Date(Date.UTC(2026, 5, 1, hour)) })
    const [early, late, other] = await Promise.all([at(0, 11), at(0, 13), at(1, 12)])
    const hourOf = (list: readonly string[], timestampQuorum = 1): number =>
      new Date(eventClaims(verify(withTokens(...list), { ...policy, timestampQuorum })).notLaterThan ?? 0).getUTCHours()
    for (const list of [
      [early, late, other],
      [other, late, early],
    ])
      assert.deepEqual([hourOf(list), hourOf(list, 2)], [11, 12])
    assert.deepEqual([hourOf([late, other]), hourOf([late, other], 2)], [12, 13])
    // The operator's own authority states any time, so it counts only if the quorum needs it.
    const own = await at(2, 9)
    assert.deepEqual([hourOf([own]), hourOf([own, late, other]), hourOf([own, late, other], 2)], [9, 12, 13])
    assert.equal(hourOf([own, late], 2), 13)
    const isLocal = (list: readonly string[], timestampQuorum = 1): boolean =>
      isLocalTimeOnly(eventClaims(verify(withTokens(...list), { ...policy, timestampQuorum })))
    assert.deepEqual([isLocal([own]), isLocal([own, late]), isLocal([own, late], 2)], [true, false, true])
  })

  it('may take intermediate certificates from the bundle, from another token and from the caller', async () => {
    const middle = await authorityNamed('middle', { issuer: present(roots[0]) })
    const bare = await tokenBy(await signerUnder(middle))
    assertUncounted(verify(withTokens(bare), policy), 'certificate.not-trusted')
    const der = derOf(middle.certificate)
    const stored = { ...withTokens(bare), validationData: [{ type: 'certificate', data: toBase64(der) }] }
    assert.equal(verify(stored, policy).state, 'proven')
    const own = { validationData: [{ type: 'certificate', der }] } as const
    assert.equal(verify(withTokens(bare), policy, own).state, 'proven')
    const carrier = present(signers[1])
    const certificates = [carrier.certificate, middle.certificate]
    const claims = eventClaims(verify(withTokens(bare, await tokenBy(carrier, { certificates })), policy))
    assert.equal(claims.timestamps[0]?.authorities.length, 2)
  })

  it('count also if the certificate of another authority cannot be read', async () => {
    const { authorities = [] } = policy
    const other = { name: 'other', trustAnchors: [Uint8Array.of(0x30, 0)] }
    const claims = eventClaims(verify(withTokens(await tokenOf(0, NOTE)), { authorities: [other, ...authorities] }))
    assert.equal(claims.notLaterThan, genTime.getTime())
  })

  it('are in time if one token of an authority is, whatever its other tokens are', async () => {
    const retired = new ForgedLog()
    retired.add(event.opening)
    const size = retired.tree.size
    retired.addKey()
    const at = genTime.getTime()
    const keys = retired.pinned.map(({ vkey, from, until }) => ({ vkey, from, until, retiredAt: at }))
    const data = encodeUtf8(retired.checkpoint(size, { key: 0 }))
    const inTime = await tokenBy(present(signers[0]), { data, accuracy: new pkijs.Accuracy({ seconds: 3_600 }) })
    const late = await tokenBy(present(signers[0]), { data, genTime: new Date(at + 60_000) })
    const stateOf = (...list: readonly string[]): string => {
      const parts = {
        sizes: [size],
        signer: () => 0,
        attestations: () => ({ tokens: list, keyConsistency: undefined }),
      }
      const bundle = forgeBundle(retired, [event], parts)
      return verify({ ...bundle, keys: bundle.keys.slice(0, 1) }, { ...policy, keys }).state
    }
    assert.deepEqual([stateOf(inTime), stateOf(late), stateOf(inTime, late)], ['proven', 'retired-key', 'proven'])
  })

  it('take revocations from the bundle and from the caller', async () => {
    const revoked = [{ certificate: present(signers[0]).certificate, at: genTime, reason: REASON.keyCompromise }]
    const der = await crl({ issuer: present(roots[0]), revoked })
    const bundle = withTokens(await tokenOf(0, NOTE))
    assertUncounted(
      verify({ ...bundle, validationData: [{ type: 'crl', data: toBase64(der) }] }, policy),
      'timestamp.revoked',
    )
    assertUncounted(verify(bundle, policy, { validationData: [{ type: 'crl', der }] }), 'timestamp.revoked')
    assert.match(whyUnchecked(verify(bundle, policy), /revocation of tsa 0/) ?? '', /No CRL or OCSP response/)
    const good = [{ type: 'crl', der: await crl({ issuer: present(roots[0]) }) }] as const
    assert.equal(whyUnchecked(verify(bundle, policy, { validationData: good }), /revocation of tsa 0/), undefined)
  })

  it('are renewed by a later stamp over their entry, and by nothing else', async () => {
    const renewing = new ForgedLog()
    renewing.add(event.opening)
    const day = (number: number): Date => new Date(Date.UTC(2026, 5, number))
    const stampOf = (signer: number, number: number): Promise<Uint8Array> =>
      response({
        signer: present(signers[signer]),
        data: encodeUtf8(renewing.checkpoint()),
        genTime: day(number),
      })
    const sizes: number[] = []
    const stamps = new Map<string, Uint8Array>()
    const stamp = async (signer: number, number: number): Promise<Uint8Array> => {
      const token = await stampOf(signer, number)
      stamps.set(renewing.checkpoint(), token)
      sizes.push(renewing.tree.size)
      return token
    }
    const old = await stamp(0, 1)
    renewing.addToken(Uint8Array.of(1))
    await stamp(1, 5)
    const position = renewing.addToken(old)
    await stamp(1, 9)
    const bundled = (): ForgedBundle =>
      forgeBundle(renewing, [event], {
        sizes,
        attestations: (note) => ({ tokens: [toBase64(present(stamps.get(note)))] }),
      })
    const bundle = bundled()
    const renewals = [entryAt(renewing, position, sizes)]
    const renewed = { ...bundle, renewals }
    const { certificate: signedBy } = present(signers[0])
    const listOf = (number: number, reason: number, extensions: readonly pkijs.Extension[] = []): Promise<Uint8Array> =>
      crl({ issuer: present(roots[0]), revoked: [{ certificate: signedBy, at: day(number), reason, extensions }] })
    const verifyWith = (document: Members, ...lists: readonly Uint8Array[]): BundleResult =>
      verify(
        document,
        { ...policy, keys: renewing.pinned },
        { validationData: lists.map((der) => ({ type: 'crl', der })) },
      )
    const verifyRevoked = async (document: Members, number: number): Promise<BundleResult> =>
      verifyWith(document, await listOf(number, REASON.keyCompromise))
    assert.equal((await verifyRevoked(renewed, 10)).state, 'proven')
    // The tree that was stamped on the fifth day does not hold the token.
    for (const number of [9, 7, 2]) assertUncounted(await verifyRevoked(renewed, number), 'timestamp.revoked')
    assertUncounted(await verifyRevoked(bundle, 10), 'timestamp.revoked')
    // The operator can state any time.
    stamps.set(renewing.checkpoint(), await stampOf(2, 9))
    assertUncounted(await verifyRevoked({ ...bundled(), renewals }, 10), 'timestamp.revoked')
    // The key was compromised before the later stamp.
    const invalidity = extension('2.5.29.24', false, new asn1js.GeneralizedTime({ valueDate: day(8) }))
    assertUncounted(verifyWith(renewed, await listOf(10, REASON.keyCompromise, [invalidity])), 'timestamp.revoked')
    // The certificate was superseded before the token. A compromise after the renewal does not hide that.
    const [superseded, later] = [await listOf(1, REASON.superseded), await listOf(10, REASON.keyCompromise)]
    assertUncounted(verifyWith(renewed, superseded, later), 'timestamp.revoked')
    assertUncounted(verifyWith(renewed, later, superseded), 'timestamp.revoked')
  })

  it('say why in a short text, however long a value in them is', async () => {
    const after: ResponseOptions['after'] = ({ signerInfos: [info] }) => {
      present(info).digestAlgorithm.algorithmId = `1.2${'.3'.repeat(1_000)}`
    }
    const { unchecked } = verify(withTokens(await tokenBy(present(signers[0]), { after })), policy)
    assert.deepEqual([...new Set(unchecked.map(({ why }) => why.length <= 500))], [true])
    assert.ok(unchecked.some(({ why }) => why.includes('digests of 1.2.3.3')))
  })

  it('cost at most so many signature checks', async () => {
    const bundle = withTokens(await tokenOf(0, NOTE))
    const issuer = present(roots[0])
    const lists = await Promise.all(
      // Each list costs 5 units: to parse it, and a signature with P-256.
      Array.from({ length: MAX_COST / 5 }, (_, i) => crl({ issuer, thisUpdate: new Date(i * 1_000) })),
    )
    const validationData = lists.map((der) => ({ type: 'crl', der }) as const)
    const few = validationData.slice(0, 40)
    assert.equal(verify(bundle, policy, { validationData: few }).state, 'proven')
    // A list counts once, however many tokens need it.
    const same = await Promise.all(Array.from({ length: 8 }, (_, i) => tokenOf(0, NOTE, i)))
    assert.equal(verify(withTokens(...same), policy, { validationData: few }).state, 'proven')
    assertBeyondLimit(verify(bundle, policy, { validationData }))
    const failing = { ...tokens, certificatesIn: () => [null as unknown as Uint8Array] }
    const failed = verify(bundle, policy, { tokens: failing })
    assert.deepEqual([failed.state, ...ruleOf(failed)], ['unreadable', 'attestations', 'verifier.failed'])
  })

  it('cost more the more values they have', async () => {
    const bundle = withTokens(await tokenOf(0, NOTE))
    // Of 20 KB, with 9,900 times NULL and a number.
    const nulls = Array.from({ length: 19_800 }, (_, i) => (i % 2 === 0 ? 5 : 0))
    const validationData = Array.from(
      { length: 15 },
      (_, i) => ({ type: 'ocsp', der: Uint8Array.of(0x30, 0x82, 0x4d, 0x5b, ...nulls, 2, 1, i) }) as const,
    )
    assert.equal(verify(bundle, policy, { validationData: validationData.slice(0, 3) }).state, 'proven')
    assertBeyondLimit(verify(bundle, policy, { validationData }))
  })
})
