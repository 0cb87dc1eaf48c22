import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, describe, it } from 'node:test'
import type { Bundle, BundleRenewal } from '../../../core/schemas/bundle.ts'
import { toHex } from '../../../core/bytes.ts'
import { tokenOpening } from '../../../core/commitment/log-entry.ts'
import { verificationError } from '../../../core/errors.ts'
import {
  verifyBundle,
  type BundleResult,
  type VerificationRule,
  type VerifyBundleOptions,
} from '../../../core/verify/index.ts'
import { tokens } from '../../../core/verify/tokens.ts'
import type { Policy } from '../../../core/verify/policy.ts'
import { factsOf } from '../../support/bundle-facts.ts'
import { openBundleRegistry } from '../../support/bundle-fixture.ts'
import { rememberingTokens } from '../../support/remembering-tokens.ts'
import { ruleOf } from './forger.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { ofSuite } from '../../support/of-suite.ts'

const verify = (bundle: Bundle, options?: VerifyBundleOptions): BundleResult =>
  verifyBundle(JSON.stringify(bundle), { tokens, ...options })

function proven(result: BundleResult) {
  assert.ok('claims' in result && !('reason' in result), 'reason' in result ? result.reason : '')
  return result.claims
}

function refutedFor(result: BundleResult, rule: VerificationRule): void {
  assert.equal(ruleOf(result).at(-1), rule)
}

describe('verifyBundle', () => {
  const directory = temporaryOfSuite()
  let policy: Policy
  let history: Bundle
  let hidden: Bundle
  let creation: Bundle
  let attached: Bundle
  let deleted: Bundle
  let fileId: string
  const registry = ofSuite(() => openBundleRegistry({ directory }))
  before(async () => {
    const { evidence, stage, scope } = registry()
    await evidence({ owner: 'Ada', files: [await stage('first'), await stage('second')] })
    await registry().settle()
    await registry().registry.evidences.update(scope, 'e-1', { owner: 'Grace', description: 'x' })
    await registry().settle()
    const [file, other] = (await registry().registry.evidences.files(scope, 'e-1')).evidence
    fileId = file?.id ?? ''
    await registry().registry.files.delete(scope, { fileId: other?.id ?? '' })
    await registry().settle()
    policy = await registry().policy()
    history = await registry().history()
    hidden = await registry().history('none', 'none')
    creation = await registry().anyone('e-1')
    attached = await registry().anyone('e-1', fileId)
    deleted = await registry().anyone('e-1', other?.id)
  })

  it('proves a history with what it discloses', () => {
    const result = verify(history, { policy, require: ['timestamp', 'anchor'] })
    assert.equal(result.state, 'proven')
    const claims = proven(result)
    const shown = claims.events.map(({ version, fields }) => [version, fields.get('owner')])
    assert.deepEqual(shown, [
      [1, 'Ada'],
      [2, undefined],
      [3, 'Grace'],
      [4, undefined],
    ])
    assert.equal(claims.isHistory, true)
    for (const { notLaterThan, committedTime, timestamps, anchors } of claims.events) {
      assert.ok(notLaterThan !== undefined && notLaterThan >= committedTime)
      assert.equal(timestamps[0]?.authorities[0]?.name, 'tsa')
      assert.equal(anchors[0]?.type, 'local')
    }
    const notChecked = result.unchecked.map(({ what }) => what)
    assert.deepEqual(notChecked, ['revocation of tsa', 'later versions'])
  })

  it('says what is hidden', () => {
    const claims = proven(verify(hidden, { policy, tokens }))
    assert.deepEqual([claims.events[0]?.fields.size, claims.events[0]?.files.size], [0, 0])
    assert.ok(claims.events[0]?.hiddenFields.includes('owner'))
    assert.equal(claims.events[0]?.hiddenFiles.length, 2)
  })

  it('proves what anyone may have', () => {
    const [event] = proven(verify(creation, { policy, tokens })).events
    assert.deepEqual([event?.version, event?.fields.size], [undefined, 0])
    assert.equal(proven(verify(attached, { policy, tokens })).file?.state, 'listed')
    const { file } = proven(verify(deleted, { policy, tokens }))
    assert.deepEqual([file?.state, file?.event], ['deleted', creation.subject.txId])
  })

  it('tells a pinned policy from the own word of the bundle', () => {
    const result = verify(history)
    assert.equal(result.state, 'consistent')
    assert.ok(proven(result).events[0]?.notLaterThan !== undefined)
    assert.ok(result.unchecked.some(({ what }) => what === 'the keys of the log'))
    const { claimedPolicy: _, ...without } = history
    const bare = verify(without)
    assert.equal(bare.state, 'consistent')
    assert.equal(proven(bare).events[0]?.notLaterThan, undefined)
  })

  it('is pending while an event is not sealed', async () => {
    await registry().evidence({ externalId: 'e-2' })
    const pending = await registry().history('all', 'all', 'e-2')
    assert.equal(verify(pending, { policy, tokens }).state, 'pending')
    assert.equal(proven(verify(pending, { policy, tokens })).events[0]?.log, undefined)
    await registry().settle()
    assert.equal(verify(await registry().history('all', 'all', 'e-2'), { policy, tokens }).state, 'proven')
  })

  it('compares contents with the disclosed files', () => {
    const content = (text: string) => ({
      name: text,
      sha256: createHash('sha256').update(text).digest('hex'),
      size: text.length,
    })
    const { txId } = creation.subject
    const matching = verify(history, { policy, contents: [content('first')] })
    assert.deepEqual([matching.state, 'file' in matching && matching.file], ['proven', 'matches'])
    assert.deepEqual(proven(matching).contents, [{ name: 'first', state: 'matches', fileId, txId }])
    // It may be that of the deleted file, whose hash is erased.
    for (const [bundle, texts] of [
      [history, ['first', 'other']],
      [hidden, ['first']],
    ] as const) {
      const result = verify(bundle, { policy, contents: texts.map(content) })
      assert.deepEqual([result.state, 'file' in result && result.file], ['proven', 'not-comparable'])
      assert.deepEqual(proven(result).contents.at(-1), { name: texts.at(-1), state: 'not-comparable' })
    }
    assert.ok(!('file' in verify(history, { policy })))
    assert.throws(() => verify(history, { contents: [{ ...content('x'), sha256: 'x' }] }), { rule: 'value.malformed' })
  })

  it('refutes another subject than the expected one', () => {
    refutedFor(verify(history, { policy, expect: { txId: '0'.repeat(64) } }), 'expected.subject')
    refutedFor(verify(attached, { policy, expect: { fileId: 'x' } }), 'expected.subject')
    assert.equal(verify(attached, { policy, expect: { fileId, txId: creation.subject.txId } }).state, 'proven')
  })

  it('refutes another key than the pinned one, and counts no other account', () => {
    const [key] = policy.keys
    const [chain] = policy.chains ?? []
    assert.ok(key && chain)
    refutedFor(verify(history, { policy: { ...policy, keys: [{ ...key, from: 1_000 }] } }), 'checkpoint.key-too-new')
    refutedFor(verify(history, { policy: { ...policy, keys: [{ ...key, until: 2 }] } }), 'checkpoint.key-retired')
    const other = verify(history, { policy: { ...policy, chains: [{ ...chain, account: 'ab'.repeat(32) }] } })
    assert.ok(other.unchecked.some(({ rule }) => rule === 'anchor.signature'))
    const relabelled = verify(history, { policy: { ...policy, chains: [{ ...chain, network: 'eip155:1' }] } })
    for (const result of [other, relabelled]) assert.deepEqual(proven(result).events[0]?.anchors, [])
  })

  const change = <T>(bundle: Bundle, edit: (copy: Bundle) => T): string => {
    const copy = structuredClone(bundle)
    edit(copy)
    return JSON.stringify(copy)
  }
  const first = <T>([item]: readonly T[]): T => {
    assert.ok(item !== undefined)
    return item
  }

  it('may have extensions, and no member twice', () => {
    const extended = change(history, (copy) => void (copy.extensions = { a: [1] }))
    assert.equal(verifyBundle(extended, { policy }).state, 'proven')
    const twice = JSON.stringify(history).replace('"version":1', '"version":1,"version":1')
    refutedFor(verifyBundle(twice, { policy }), 'form.json')
  })

  it('names the check that failed', () => {
    const checkOf = (text: string, options: VerifyBundleOptions = {}): unknown => {
      const result = verifyBundle(text, { policy, tokens, ...options })
      return 'check' in result ? result.check : result.state
    }
    const checkAfter = (edit: (copy: Bundle) => void): unknown => checkOf(change(history, edit))
    const [key] = policy.keys
    assert.ok(key)
    assert.deepEqual(
      [
        checkOf('[]'),
        checkAfter((copy) => void (copy.origin = 'another')),
        checkAfter((copy) => void copy.events.reverse()),
        checkOf(JSON.stringify(history), { policy: { ...policy, keys: [{ ...key, until: 2 }] } }),
        checkAfter((copy) => void first(first(copy.events).inclusion).path.pop()),
        checkOf(JSON.stringify(history), { expect: { txId: '0'.repeat(64) } }),
      ],
      ['document', 'keys', 'events', 'checkpoint', 'inclusion', 'expected'],
    )
  })

  it('renews older tokens under the newest stamp', () => {
    const [oldest, newest] = [first(history.checkpoints), history.checkpoints.at(-1)]
    const sizeOf = (note: string): number => Number(note.split('\n')[1])
    const [token] = oldest.tokens.map((base64) => Buffer.from(base64, 'base64'))
    assert.ok(token !== undefined && newest !== undefined && newest !== oldest)
    const renewal = history.renewals?.find(({ opening }) => opening === toHex(tokenOpening(token)))
    assert.ok(renewal !== undefined && renewal.position >= sizeOf(oldest.note))
    const treeSizes = renewal.inclusion.map(({ treeSize }) => treeSize)
    assert.deepEqual(treeSizes, [sizeOf(newest.note)])
    // The certificate of the oldest token was compromised after the newest stamp, or before it.
    const { notLaterThan = 0 } = proven(verify(history, { policy })).events.at(-1) ?? {}
    // The operator's own authority renews nothing, so this one is taken for another.
    const anchor = Uint8Array.of(1)
    const independent = { ...policy, authorities: [{ name: 'tsa', trustAnchors: [anchor] }] }
    const trustAnchors = policy.authorities?.flatMap((authority) => authority.trustAnchors) ?? []
    const verifyRevoked = (bundle: Bundle, revokedAt: number, pinned: Policy = independent): BundleResult =>
      verify(bundle, {
        policy: pinned,
        tokens: {
          ...tokens,
          verifyToken(der, options) {
            if (Buffer.compare(der, token) === 0 && !((options.renewedAt ?? Infinity) < revokedAt))
              throw verificationError('timestamp.revoked', 'the certificate was revoked')
            const verified = tokens.verifyToken(der, { ...options, trustAnchors })
            return { ...verified, certificates: [...verified.certificates, anchor] }
          },
        },
      })
    assert.equal(verifyRevoked(history, notLaterThan + 1).state, 'proven')
    const revokes = (result: BundleResult): boolean => result.unchecked.some(({ rule }) => rule === 'timestamp.revoked')
    assert.equal(revokes(verifyRevoked(history, notLaterThan + 1)), false)
    assert.equal(revokes(verifyRevoked(history, notLaterThan)), true)
    assert.equal(revokes(verifyRevoked(history, notLaterThan + 1, policy)), true)
    const { renewals: _, ...without } = history
    assert.equal(revokes(verifyRevoked(without, notLaterThan + 1)), true)
    assert.equal(verify(without, { policy }).state, 'proven')
  })

  it('refutes renewals that are not those of tokens in the tree', () => {
    const refuted = (edit: (renewal: BundleRenewal, copy: Bundle) => void, rule: VerificationRule): void =>
      refutedFor(
        verifyBundle(
          change(history, (copy) => edit(first(copy.renewals ?? []), copy)),
          { policy, tokens },
        ),
        rule,
      )
    refuted((renewal) => (renewal.position -= 1), 'inclusion.root-differs')
    refuted((renewal) => void first(renewal.inclusion).path.reverse(), 'inclusion.root-differs')
    refuted((renewal) => (first(renewal.inclusion).treeSize += 100), 'inclusion.no-checkpoint')
    refuted(
      (renewal) => (renewal.opening = renewal.opening.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))),
      'inclusion.root-differs',
    )
    refuted((renewal, { events }) => {
      const { opening, position = 0, inclusion } = first(events)
      Object.assign(renewal, { opening, position, inclusion })
    }, 'value.malformed')
  })

  it('keeps every claim true in a mix of two bundles', async () => {
    const other = await registry().history('all', 'all', 'e-2')
    const all = [history, hidden, creation, attached, deleted, other]
    const facts = new Set(all.flatMap((bundle) => factsOf(verify(bundle, { policy, tokens }))))
    const deletedFile = proven(verify(deleted, { policy, tokens })).file
    const mixes = new Set(all.flatMap((a) => all.flatMap((b) => mixesOf(a, b))).map((mix) => JSON.stringify(mix)))
    const remembering = rememberingTokens()
    let accepted = 0
    for (const mix of mixes) {
      const result = verifyBundle(mix, { policy, tokens: remembering })
      if (!('claims' in result)) continue
      accepted += 1
      for (const fact of factsOf(result)) assert.ok(facts.has(fact), fact)
      const { file } = result.claims
      // The creation attached both files, and the last version deleted one of them.
      if (file !== undefined) assert.equal(file.event, creation.subject.txId)
      if (file?.state === 'deleted') assert.deepEqual(file, deletedFile)
      if (result.claims.isHistory) assert.equal(result.claims.events[0]?.version, 1)
    }
    assert.ok(accepted > all.length)
  })
})

/** Every bundle that has some members of `a` and the others of `b`. */
function mixesOf(a: Bundle, b: Bundle): readonly object[] {
  const names = ['subject', 'events', 'keys', 'checkpoints', 'validationData', 'renewals'] as const
  const mixes: object[] = []
  for (let bits = 0; bits < 1 << names.length; bits++)
    mixes.push({ ...a, ...Object.fromEntries(names.filter((_, i) => (bits >> i) & 1).map((name) => [name, b[name]])) })
  for (const [i, event] of a.events.entries())
    for (const other of b.events) mixes.push({ ...a, events: a.events.with(i, { ...event, ...other }) })
  mixes.push({ ...a, events: [...a.events, ...b.events] })
  return mixes
}
