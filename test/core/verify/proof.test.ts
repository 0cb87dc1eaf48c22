import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { encodeUtf8, fromHex } from '../../../core/bytes.ts'
import type { FileProof } from '../../../core/index.ts'
import { LogReader } from '../../../core/log/reader.ts'
import { openLogIdentity } from '../../../core/log/identity.ts'
import {
  verifierKeysOf,
  verifyProof,
  logKeysOf,
  parsePolicy,
  type AnchoredTransaction,
  type Policy,
  type ProofResult,
  type VerifyProofOptions,
} from '../../../core/verify/index.ts'
import { rememberingTokens } from '../../support/bundle-mutation-run.ts'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'
import { fillRegistry, openSealedRegistry, type Filled, type SealedRegistry } from '../../support/sealed-registry.ts'
import { present } from '../../support/present.ts'

/** As over HTTP: only JSON values. */
const overTheWire = (proof: unknown): Record<string, unknown> => JSON.parse(JSON.stringify(proof)) as never

/** Most changes of a proof leave its tokens as they are. */
const tokens = rememberingTokens()

const check = (proof: unknown, options: VerifyProofOptions): ProofResult =>
  verifyProof(JSON.stringify(proof), { tokens, ...options })

const failed = ({ steps }: ProofResult): string[] =>
  steps.filter(({ state }) => state === 'failed').map(({ name, of }) => `${of}: ${name}`)

describe('verifyProof', () => {
  let directory: string
  let sealed: SealedRegistry
  let filled: Filled
  let policy: Policy
  let options: VerifyProofOptions
  let proofs: Record<string, Record<string, unknown>>

  before(async () => {
    directory = await makeTemporary()
    sealed = await openSealedRegistry(directory)
    filled = await fillRegistry(sealed)
    const { registry, trustAnchor, scope } = sealed
    const { events } = await registry.evidences.get(scope, filled.drill)
    proofs = {
      evidence: overTheWire(await registry.proofs.evidence({ evidenceId: filled.drill })),
      file: overTheWire(await registry.proofs.file({ evidenceId: filled.drill, fileId: filled.keptFile })),
      later: overTheWire(await registry.proofs.file({ evidenceId: filled.drill, fileId: filled.billFile })),
      deleted: overTheWire(await registry.proofs.file({ evidenceId: filled.drill, fileId: filled.deletedFile })),
      path: overTheWire(await registry.proofs.transaction(present(events[1]).txId)),
    }
    const account = present((await registry.log.policy()).chains[0]).account
    const chain = chainOf(Object.values(proofs), account)
    const findTransaction: VerifyProofOptions['findTransaction'] = (anchor) => chain.get(anchor['txHash'])
    policy = parsePolicy(JSON.stringify(await registry.log.policy()))
    assert.deepEqual(policy.authorities?.[0]?.trustAnchors, [trustAnchor])
    options = { policy, findTransaction }
  })
  after(async () => {
    await sealed.registry.close()
    await removeTemporary(directory)
  })

  const proofOf = (kind: string): Record<string, unknown> => structuredClone(present(proofs[kind]))

  it('verifies each document from the opening to the token and the chain', () => {
    const states = (kind: string): string[] => check(proofs[kind], options).steps.map(({ state }) => state)
    assert.deepEqual(states('evidence'), Array(8).fill('ok'))
    assert.deepEqual(states('file'), Array(9).fill('ok'))
    assert.deepEqual(states('deleted'), Array(9 + 7 + 1).fill('ok'))
    assert.deepEqual(states('path'), [...Array(4).fill('ok'), ...Array(4).fill('skipped')])
    for (const kind of Object.keys(proofs)) assert.equal(check(proofs[kind], options).ok, true)
  })

  it('verifies a stamp and an anchor that are later than the batch', () => {
    const { merkle, tsa } = proofs['later'] as unknown as Extract<FileProof, { readonly status: 'ok' }>
    for (const later of [tsa, merkle?.anchor]) {
      assert.ok(later !== undefined && merkle !== undefined && later.treeSize > merkle.treeSize)
      assert.ok(later.consistency.length > 0)
    }
    assert.deepEqual(
      check(proofs['later'], options).steps.map(({ state }) => state),
      Array(9).fill('ok'),
    )
  })

  it('skips steps that it cannot run, unless they are required', async () => {
    const { registry, scope } = sealed
    const bare = { policy: { keys: [{ vkey: registry.log.verifierKey }] } }
    const states = check(proofs['evidence'], bare).steps.filter(({ state }) => state === 'skipped')
    assert.deepEqual(
      states.map(({ name }) => name),
      ['timestamp', 'anchor'],
    )
    assert.deepEqual(failed(check(proofs['path'], { ...bare, require: ['timestamp'] })), ['event: timestamp'])
    const { txId } = await registry.evidences.create(scope, {
      category: { name: 'Tools & Gärten' },
      subcategory: { name: 'Drills' },
      externalId: 'unsealed',
      name: 'Unsealed',
    })
    const pending = overTheWire(await registry.proofs.evidence({ evidenceId: 'unsealed' }))
    assert.equal(pending['txId'], txId)
    assert.deepEqual(failed(check(pending, options)), ['event: inclusion', 'event: checkpoint'])
  })

  /** What a document states that no cryptography covers (see the comment on `verifyProof`). */
  const UNPROVEN = new Set([
    'status',
    'evidenceId',
    'fileCount',
    'batchId',
    'sendStatus',
    'tsa.authority',
    'tsas.authority',
    'merkle.batchId',
    'merkle.sendStatus',
    ...['time', 'anchor', 'note'].map((name) => `assurance.${name}`),
    'merkle.anchor.confirmations',
  ])
  const isUnproven = (path: string): boolean => UNPROVEN.has(path) || UNPROVEN.has(path.replace(/^deletion\./, ''))

  for (const kind of ['evidence', 'file', 'later', 'deleted', 'path']) {
    it(`rejects every change of a member: ${kind}`, () => {
      let changes = 0
      for (const path of leavesOf(proofs[kind])) {
        for (const change of [other, wrongKind]) {
          const proof = proofOf(kind)
          edit(proof, path, change)
          const { ok } = check(proof, options)
          assert.equal(ok, isUnproven(nameOf(path)), `${nameOf(path)} changed by ${change.name}`)
          if (!ok) changes += 1
        }
      }
      assert.ok(changes > 15, `${changes} changes were noticed`)
    })

    it(`rejects every missing member: ${kind}`, () => {
      for (const path of leavesOf(proofs[kind])) {
        const proof = proofOf(kind)
        edit(proof, path, () => undefined)
        const name = nameOf(path).replace(/^deletion\./, '')
        // The opening holds the time, and an anchor's checkpoint its root. A document without these members is still
        // correct.
        const optional = ['createdAt', 'eventTimestamp', 'blockNumber', 'merkle.anchor.merkleRoot', 'fileId']
        const { ok } = check(proof, options)
        if (!optional.includes(name)) assert.equal(ok, isUnproven(nameOf(path)), `${nameOf(path)} removed`)
      }
    })
  }

  it('rejects a path with a missing, duplicated or swapped hash', () => {
    for (const edits of [
      (path: unknown[]) => path.slice(1),
      (path: unknown[]) => [...path, path[0]],
      (path: unknown[]) => path.toReversed(),
    ]) {
      const proof = proofOf('evidence') as { merkle: { proof: unknown[] } }
      assert.ok(proof.merkle.proof.length > 1)
      proof.merkle.proof = edits(proof.merkle.proof)
      assert.deepEqual(failed(check(proof, options)), ['event: inclusion'])
    }
  })

  it('trusts no other key, no other authority and no other chain', async () => {
    const { trustAnchor } = sealed
    const stranger = await openSealedRegistry(`${directory}/other`, 8)
    const keys = [{ vkey: stranger.registry.log.verifierKey }]
    await stranger.registry.close()
    const steps = (some: Partial<VerifyProofOptions>): string[] =>
      failed(check(proofs['evidence'], { ...options, ...some }))
    const withAuthority = (...trustAnchors: readonly Uint8Array[]): Partial<VerifyProofOptions> => ({
      policy: { ...policy, authorities: [{ name: 'authority', trustAnchors }] },
    })
    const all = ['checkpoint', 'stamped checkpoint', 'timestamp', 'anchored checkpoint', 'anchor']
    const unsigned = all.map((name) => `event: ${name}`)
    assert.deepEqual(steps({ policy: { ...policy, keys } }), unsigned)
    assert.deepEqual(steps({ policy: { ...policy, keys: [] } }), unsigned)
    assert.deepEqual(steps({ policy: { ...policy, keys: [{ vkey: 'nonsense' }, ...keys, ...policy.keys] } }), [])
    assert.deepEqual(steps(withAuthority(stranger.trustAnchor)), ['event: timestamp'])
    assert.deepEqual(steps(withAuthority(stranger.trustAnchor, trustAnchor)), [])
    assert.deepEqual(steps({ findTransaction: () => undefined }), ['event: anchor'])
    const account = present(policy.chains?.[0]).account
    const transaction = { chainId: 0, account, input: encodeUtf8('x'), blockNumber: 1, blockHash: '', blockTime: 0 }
    assert.deepEqual(steps({ findTransaction: () => transaction }), ['event: anchor'])
  })

  it('returns a result for every input', () => {
    const nonsense = [
      null,
      'x',
      7,
      [],
      {},
      { merkle: 'x', tsa: 7 },
      { merkle: { anchor: [] }, tsa: [], deletion: null },
    ]
    for (const proof of nonsense) assert.equal(check(proof, options).ok, false)
  })

  it('verifies under a rotated key, derived from the keys in the log', async () => {
    const { registry, records, secret, clock, scope, settle } = sealed
    const identity = await openLogIdentity({ records, secret, clock })
    await identity.rotateCheckpointKey()
    await registry.evidences.create(scope, {
      category: { name: 'Tools & Gärten' },
      subcategory: { name: 'Drills' },
      externalId: 'after the rotation',
      name: 'Rotated',
    })
    await settle()
    const proof = overTheWire(await registry.proofs.evidence({ evidenceId: 'after the rotation' }))
    const log = new LogReader(records)
    const entries = await Promise.all(
      identity.keys.map(async ({ entry, position }) => ({
        opening: present(await log.payloadOf(present(fromHex(entry)))).opening,
        position,
      })),
    )
    const keys = logKeysOf(registry.log.origin, entries)
    assert.equal(keys.length, 2)
    assert.deepEqual(keys, parsePolicy(JSON.stringify(await registry.log.policy())).keys)
    assert.deepEqual(failed(check(proof, { policy: { ...policy, keys } })), [])
    const all = ['checkpoint', 'stamped checkpoint', 'timestamp', 'anchored checkpoint', 'anchor']
    assert.deepEqual(
      failed(check(proof, { policy: { ...policy, keys: keys.slice(0, 1) } })),
      all.map((name) => `event: ${name}`),
    )
    // Entries that were sealed before still verify under the first key.
    assert.equal(check(proofs['evidence'], { ...options, policy: { ...policy, keys } }).ok, true)
    const openings = entries.map(({ opening }) => opening)
    assert.deepEqual(
      verifierKeysOf(registry.log.origin, openings),
      keys.map(({ vkey }) => vkey),
    )
    assert.throws(() => verifierKeysOf(registry.log.origin, openings.toReversed()), { code: 'VERIFICATION_FAILED' })
    assert.throws(() => verifierKeysOf(`${registry.log.origin}0`, openings), { code: 'VERIFICATION_FAILED' })
  })
})

/** The chain's transactions, taken from the proofs. */
function chainOf(
  allProofs: readonly Record<string, unknown>[],
  account: string,
): ReadonlyMap<unknown, AnchoredTransaction> {
  const anchors = allProofs.flatMap((proof) => {
    const { merkle, deletion } = proof as Partial<Extract<FileProof, { readonly status: 'deleted' }>>
    return [merkle?.anchor, deletion?.merkle?.anchor]
  })
  return new Map(
    anchors
      .filter((anchor) => anchor !== undefined)
      .map(({ txHash, checkpoint, blockNumber, blockHash, blockTime }) => [
        txHash,
        {
          chainId: 0,
          account,
          input: encodeUtf8(checkpoint),
          blockNumber,
          blockHash,
          blockTime: Date.parse(blockTime),
        },
      ]),
  )
}

type Path = readonly (string | number)[]

const nameOf = (path: Path): string => path.filter((part) => typeof part === 'string').join('.')

/** The path to every member that is not an object or array. */
function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, member]) =>
    leavesOf(member, [...path, Array.isArray(value) ? Number(name) : name]),
  )
}

function edit(proof: unknown, path: Path, change: (value: unknown) => unknown): void {
  const parent = path.slice(0, -1).reduce((value, name) => (value as Record<string, unknown>)[name], proof)
  const last = path.at(-1) as string
  const members = parent as Record<string, unknown>
  members[last] = change(members[last])
}

/** Another value of the same type. */
function other(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  const text = value as string
  if (text === 'left' || text === 'right') return text === 'left' ? 'right' : 'left'
  if (/^\d{4}-\d\d-\d\dT/.test(text)) return new Date(Date.parse(text) + 1).toISOString()
  // Replaces a character in the middle by one that hex and base64 contain.
  const at = Math.floor(text.length / 2)
  return text.slice(0, at) + (text[at] === '1' ? '2' : '1') + text.slice(at + 1)
}

function wrongKind(value: unknown): unknown {
  return typeof value === 'string' ? 7 : 'x'
}
