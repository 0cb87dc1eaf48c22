import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import * as asn1js from 'asn1js'
import * as pkijs from 'pkijs'
import { concatBytes, encodeUtf8, sha256, sha256Of, toBase64, toHex } from '../../../core/bytes.ts'
import { deletedFileText } from '../../../core/commitment/event-format.ts'
import { createNoteSigner } from '../../../core/log/note.ts'
import {
  MAX_SIGNATURE_CHECKS,
  MAX_TOKENS,
  parsePolicy,
  verifyProof,
  type Policy,
  type ProofResult,
  type VerifyProofOptions,
} from '../../../core/verify/index.ts'
import { tokens as tokenVerifier } from '../../../core/verify/tokens.ts'
import {
  certificate,
  derOf,
  extension,
  keyPair,
  OID,
  response,
  type Issuer,
  type KeyKind,
  type ResponseOptions,
} from '../../support/test-authority.ts'
import { crl, ocspResponse, REASON } from '../../support/test-revocation.ts'
import { present } from '../../support/present.ts'
import { content, FILE, fileText, SLOT_KEY, ForgedLog, forgeEvent, type ForgedEvent } from './forger.ts'

/** Every hash and signature here is correct, so that exactly one rule is left that can reject the forgery. */

const log = new ForgedLog()
const eventOf = (version: number, files: Record<string, string> = {}): ForgedEvent =>
  forgeEvent({
    origin: log.origin,
    slotKey: SLOT_KEY,
    version,
    time: version * 1_000,
    ...(version > 1 && { first: 'a'.repeat(64), prev: 'b'.repeat(64) }),
    fields: { evidence: 'evidence-1', externalId: 'one' },
    files,
  })

const attach = eventOf(1, { [FILE]: fileText })
const other = eventOf(2)
const deletion = eventOf(3, { [FILE]: deletedFileText(FILE, attach.txId) })
const attachAt = log.add(attach.opening)
const otherAt = log.add(other.opening)
const deletionAt = log.add(deletion.opening)
const SIZE = log.tree.size
log.add(eventOf(4).opening)
const LATER = log.tree.size
log.addKey()
log.add(eventOf(5).opening)

async function issuerNamed(name: string, issuer?: Issuer, kind: KeyKind = 'P-256'): Promise<Issuer> {
  const keys = await keyPair(kind, name)
  return {
    keys,
    certificate: await certificate({ name, keys, ...(issuer && { issuer }), authority: {}, keyUsage: 0x06 }),
  }
}

async function signerUnder(issuer: Issuer, name: string, kind: KeyKind = 'P-256'): Promise<Issuer> {
  const keys = await keyPair(kind, name)
  const extendedKeyUsage = { critical: true, purposes: [OID.timeStamping] }
  return { keys, certificate: await certificate({ name, keys, issuer, keyUsage: 0x80, extendedKeyUsage }) }
}

const [rootA, rootB] = [await issuerNamed('root a'), await issuerNamed('root b')]
const [signerA, signerB] = [await signerUnder(rootA, 'signer a'), await signerUnder(rootB, 'signer b')]
const ACCOUNT = '0xAbCdEf'
const CHAIN = { type: 'evm', network: 'eip155:1', chainId: 1, account: ACCOUNT.toLowerCase() }
const BLOCK = { blockNumber: 7, blockHash: '0xb10c', blockTime: Date.parse('2026-06-01T13:00:00.000Z') }

const policy: Policy = {
  keys: log.pinned,
  authorities: [
    { name: 'a', trustAnchors: [derOf(rootA.certificate)] },
    { name: 'b', trustAnchors: [derOf(rootB.certificate)] },
  ],
  chains: [CHAIN],
}

const note = log.checkpoint(LATER, { key: 0 })
const tokenOf = (signer: Issuer, options: Partial<ResponseOptions> = {}): Promise<Uint8Array> =>
  response({ signer, data: encodeUtf8(note), ...options })

/** A token as a document shows it, if its genTime is the default one. */
const shownToken = (der: Uint8Array, shown: Record<string, unknown> = {}) => ({
  authority: 'x',
  ...shown,
  token: toBase64(der),
  ...log.later(SIZE, LATER, note),
})

const { parseTimestampResponse } = await import('../../../core/verify/tokens.ts')
function stated(der: Uint8Array): Record<string, unknown> {
  const { genTime, serialNumber, policy: oid, hashAlgorithm, imprint } = parseTimestampResponse(der)
  return shownToken(der, {
    genTime: new Date(genTime).toISOString(),
    serialNumber,
    policy: oid,
    hashAlgorithm,
    imprint: toHex(imprint),
  })
}

const transaction = { chainId: 1, account: ACCOUNT, input: encodeUtf8(note), ...BLOCK }

const merkleOf = (position: number) => ({
  ...log.merkle(position, SIZE, log.checkpoint(SIZE, { key: 0 })),
  anchor: {
    type: 'evm',
    network: 'eip155:1',
    chainId: 1,
    txHash: '0x7',
    ...BLOCK,
    blockTime: new Date(BLOCK.blockTime).toISOString(),
    confirmations: 9,
    ...log.later(SIZE, LATER, note),
  },
})

let tokenA: Uint8Array
let tokenB: Uint8Array
describe('the verifier of single proofs', () => {
  before(async () => {
    tokenA = await tokenOf(signerA, { accuracy: new pkijs.Accuracy({ seconds: 2 }) })
    tokenB = await tokenOf(signerB, { genTime: new Date('2026-06-01T12:00:00.000Z') })
  })

  type Members = Record<string, unknown>
  interface Merkle extends Members {
    proof: Members[]
    anchor: Members
  }
  interface Deletion extends Members {
    merkle: Merkle
  }
  interface Document extends Members {
    merkle: Merkle
    tsa: Members
    tsas: Members[]
    deletion: Deletion
  }

  /** A document without an anchor. */
  type WithDeletion = Members & { deletion: Members }

  function remove(members: Members, ...names: readonly string[]): void {
    for (const name of names) delete members[name]
  }

  /** The proof of a file, with its deletion. */
  function fileProof(): Document {
    const { opening, filesText, filesSalt } = attach.disclosure
    return {
      status: 'deleted',
      fileId: FILE,
      evidenceId: 'one',
      txId: attach.txId,
      eventTimestamp: new Date(attach.time).toISOString(),
      opening,
      filesText,
      filesSalt,
      merkle: merkleOf(attachAt),
      tsa: stated(tokenA),
      tsas: [stated(tokenA), stated(tokenB)],
      deletion: deletionOf(deletion, deletionAt),
    }
  }

  function deletionOf(event: ForgedEvent, position: number): Deletion {
    const { opening, filesText, filesSalt, files } = event.disclosure
    return {
      txId: event.txId,
      eventTimestamp: new Date(event.time).toISOString(),
      opening,
      filesText,
      filesSalt,
      ...(files[FILE] && { file: files[FILE] }),
      merkle: merkleOf(position),
    }
  }

  const OPTIONS: VerifyProofOptions = { policy, tokens: tokenVerifier, findTransaction: () => transaction }
  const check = (document: unknown, options: Partial<VerifyProofOptions> = {}): ProofResult =>
    verifyProof(typeof document === 'string' ? document : JSON.stringify(document), { ...OPTIONS, ...options })

  function assertFails(result: ProofResult, step: string, reason: RegExp): void {
    assert.equal(result.ok, false)
    assert.equal(result.claims, undefined)
    const failed = result.steps.filter(({ state }) => state === 'failed')
    assert.deepEqual([...new Set(failed.map(({ name }) => name))], [step], JSON.stringify(failed))
    assert.match(failed[0]?.reason ?? '', reason)
  }

  const edited = (edit: (document: Document) => void): Document => {
    const document = structuredClone(fileProof())
    edit(document)
    return document
  }

  describe('an honest proof', () => {
    it('proves the event, the file, its deletion, times, authorities and the block', () => {
      const result = check(fileProof())
      assert.equal(result.ok, true, JSON.stringify(result.steps))
      const { claims } = result
      assert.equal(claims.txId, attach.txId)
      assert.deepEqual(claims.log, { origin: log.origin, leafIndex: attachAt, treeSize: SIZE })
      assert.equal(claims.committedTime, attach.time)
      assert.deepEqual(claims.file, { fileId: FILE, state: 'deleted' })
      assert.deepEqual(claims.timestamp?.authorities.map(({ name }) => name).toSorted(), ['a', 'b'])
      assert.equal(claims.timestamp.notLaterThan, Date.parse('2026-06-01T12:00:00.000Z'))
      assert.equal(claims.notLaterThan, claims.timestamp.notLaterThan)
      assert.deepEqual(claims.anchor, { ...CHAIN, txHash: '0x7', ...BLOCK })
      assert.equal(claims.deletion?.txId, deletion.txId)
      assert.ok(result.unchecked.some(({ what }) => what === 'evidenceId'))
      assert.ok(result.unchecked.some(({ what }) => what === 'revocation of a'))
      assert.ok(!result.unchecked.some(({ what }) => what === 'retired keys'))
    })

    it('adds the accuracy of a token to its time', () => {
      const alone = edited((document) => {
        document.tsas = [document.tsa]
      })
      assert.equal(check(alone).claims?.timestamp?.notLaterThan, Date.parse('2026-06-01T12:00:02.250Z'))
      // Two authorities are required: the later one of both times counts.
      const quorum = { policy: { ...policy, timestampQuorum: 2 } }
      assert.equal(check(fileProof(), quorum).claims?.timestamp?.notLaterThan, Date.parse('2026-06-01T12:00:02.250Z'))
      assertFails(check(alone, quorum), 'timestamp', /Expected 2 trusted authorities/)
    })

    it('says only that the event lists the file, if neither its entry nor its deletion is shown', () => {
      const listed = edited((document) => remove(document, 'deletion'))
      assert.deepEqual(check(listed).claims?.file, { fileId: FILE, state: 'listed' })
      const disclosed = edited((document) => {
        remove(document, 'deletion')
        document['disclosure'] = attach.disclosure
      })
      assert.equal(check(disclosed).claims?.file?.state, 'attached')
      assert.equal(check(disclosed).claims?.file?.attached?.name, 'a.txt')
      assert.equal(check(disclosed).claims?.disclosed?.fields.get('evidence'), 'evidence-1')
    })

    it('shows no event that says it belongs to another log', () => {
      const own = new ForgedLog()
      const prove = (origin: string): ProofResult => {
        const { txId, opening, disclosure } = forgeEvent({ origin, slotKey: SLOT_KEY, version: 1, time: 1_000 })
        const document = { txId, opening: toHex(opening), disclosure, merkle: own.merkle(own.add(opening)) }
        return check(document, { policy: { keys: own.pinned } })
      }
      assert.equal(prove(own.origin).claims?.disclosed?.log, own.origin)
      assertFails(prove('other.example/log'), 'disclosure', /belongs to the log other.example\/log/)
    })

    it('says if the policy does not pin when a key was retired', () => {
      const unpinned = { policy: { ...policy, keys: policy.keys.map(({ vkey }) => ({ vkey })) } }
      const result = check(fileProof(), unpinned)
      assert.equal(result.ok, true)
      assert.ok(result.unchecked.some(({ what }) => what === 'retired keys'))
    })

    it('is pending before it is sealed', () => {
      const pending = edited((document) => {
        remove(document, 'merkle', 'tsa', 'tsas', 'deletion')
      })
      const result = check(pending, { require: ['timestamp', 'anchor'] })
      assert.deepEqual([result.ok, !result.ok && result.isPending], [false, true])
      const wrong = check({ ...pending, opening: other.disclosure.opening })
      assert.deepEqual([wrong.ok, !wrong.ok && wrong.isPending], [false, false])
    })
  })

  describe('forged documents', () => {
    const forgeries: [rule: string, step: string, document: () => unknown, reason: RegExp][] = [
      [
        'a duplicate key',
        'document',
        () => JSON.stringify(fileProof()).replace('"txId"', '"txId":"x","txId"'),
        /strict JSON/,
      ],
      ['an unknown member', 'document', () => ({ ...fileProof(), color: 1 }), /unknown member color/],
      ['flat members beside merkle', 'document', () => ({ ...fileProof(), leafIndex: 1 }), /unknown member leafIndex/],
      [
        'an unknown member of merkle',
        'document',
        () => edited(({ merkle }) => (merkle.color = 1)),
        /unknown member color/,
      ],
      [
        'an unknown member of an anchor',
        'document',
        () => edited(({ merkle }) => (merkle.anchor.color = 1)),
        /unknown member color/,
      ],
      [
        'an unknown member of a proof item',
        'document',
        () => edited(({ merkle }) => (present(merkle.proof[0])['color'] = 1)),
        /unknown member color/,
      ],
      ['an unknown member of tsa', 'document', () => edited(({ tsa }) => (tsa.color = 1)), /unknown member color/],
      [
        'an unknown member of tsas',
        'document',
        () => edited(({ tsas }) => (present(tsas[1])['color'] = 1)),
        /unknown member color/,
      ],
      [
        'an unknown member of a deletion',
        'document',
        () => edited((document) => (document.deletion.color = 1)),
        /unknown member color/,
      ],
      [
        'another time',
        'opening',
        () => edited((document) => (document['eventTimestamp'] = new Date(7).toISOString())),
        /not the time/,
      ],
      [
        'a file that the event does not hold',
        'files',
        () =>
          edited((document) => {
            document['fileId'] = 'another'
            remove(document, 'deletion')
          }),
        /does not hold the file/,
      ],
      [
        'a tree of another size',
        'checkpoint',
        () =>
          edited(({ merkle }) => {
            const bigger = log.merkle(attachAt, LATER, note)
            Object.assign(merkle, bigger, { checkpoint: log.checkpoint(SIZE, { key: 0 }) })
            Object.assign(merkle.anchor, log.later(LATER, LATER, note))
          }),
        /another size/,
      ],
      [
        'another block number',
        'anchor',
        () => edited((document) => (document['blockNumber'] = 8)),
        /blockNumber is not/,
      ],
    ]
    for (const [rule, step, document, reason] of forgeries)
      it(`are rejected: ${rule}`, () => {
        const result = check(document())
        const [failed] = result.steps.filter(({ state }) => state === 'failed')
        assert.equal(result.ok, false)
        assert.equal(failed?.name, step)
        assert.match(failed?.reason ?? '', reason)
      })

    it('may hold anything in extensions', () => {
      assert.equal(check({ ...fileProof(), extensions: { color: 1 } }).ok, true)
    })

    it('are rejected if they are not a text', () => {
      assert.equal(verifyProof(fileProof() as never, OPTIONS).ok, false)
      assert.equal(check('x'.repeat(8_388_609)).ok, false)
    })

    it('are rejected: a path of another leaf, of another length, or with a wrong side', () => {
      const document = (change: object): Members => ({
        txId: attach.txId,
        opening: attach.disclosure.opening,
        merkle: { ...log.merkle(attachAt, SIZE, log.checkpoint(SIZE, { key: 0 })), ...change },
      })
      const { proof } = log.merkle(attachAt, SIZE)
      assert.equal(check(document({})).ok, true)
      const { leafIndex, proof: path } = log.merkle(otherAt, SIZE)
      assertFails(check(document({ leafIndex, proof: path })), 'inclusion', /another root/)
      assertFails(check(document({ proof: [...proof, ...proof] })), 'inclusion', /length/)
      const turned = proof.map(({ hash }) => ({ hash, position: 'middle' }))
      assertFails(check(document({ proof: turned })), 'inclusion', /position/)
    })

    it('are rejected: a root that the checkpoint does not have', () => {
      // The same size of another log, whose proofs are right.
      const another = new ForgedLog()
      another.add(attach.opening)
      another.add(eventOf(9).opening)
      another.add(eventOf(8).opening)
      const document = {
        txId: attach.txId,
        opening: attach.disclosure.opening,
        merkle: { ...another.merkle(1, SIZE), checkpoint: log.checkpoint(SIZE, { key: 0 }) },
      }
      assertFails(check(document), 'checkpoint', /another root/)
      const stamped = edited(({ merkle }) => (merkle.anchor.merkleRoot = 'a'.repeat(64)))
      assert.match(check(stamped).steps.find(({ state }) => state === 'failed')?.reason ?? '', /another root/)
    })

    it('are rejected: a stamped or anchored tree that does not extend the tree', () => {
      const another = new ForgedLog()
      for (let i = another.tree.size; i < LATER; i++) another.add(eventOf(20 + i).opening)
      const later = another.later(SIZE, LATER)
      for (const [step, edit] of [
        ['stamped checkpoint', ({ tsa }: Document) => Object.assign(tsa, later)],
        ['anchored checkpoint', ({ merkle }: Document) => Object.assign(merkle.anchor, later)],
      ] as const) {
        const result = check(edited(edit))
        const [failed] = result.steps.filter(({ state }) => state === 'failed')
        assert.equal(failed?.name, step)
        assert.match(failed.reason ?? '', /consistency proof does not lead/)
      }
    })
  })

  describe('forged deletions', () => {
    /** The events are real and sealed. Only what they delete differs. */
    const forged = (files: Record<string, string>, version = 40): WithDeletion => {
      const made = new ForgedLog()
      const event = eventOf(version, files)
      for (const opening of log.openings.slice(1, SIZE)) made.add(opening)
      const position = made.add(event.opening)
      const { opening, filesText, filesSalt } = attach.disclosure
      const merkle = (at: number) => made.merkle(at, made.tree.size)
      const document = deletionOf(event, deletionAt)
      return {
        fileId: FILE,
        evidenceId: 'one',
        txId: attach.txId,
        opening,
        filesText,
        filesSalt,
        merkle: merkle(attachAt),
        deletion: { ...document, file: event.disclosure.files[FILE] ?? document['file'], merkle: merkle(position) },
      }
    }
    const forgeries: [rule: string, document: () => WithDeletion, reason: RegExp][] = [
      [
        'any sealed event',
        () =>
          edited((document) => {
            document.deletion = { ...deletionOf(other, otherAt), file: deletion.disclosure.files[FILE] }
          }),
        /does not hold the file/,
      ],
      [
        'without its members',
        () =>
          edited((document) => {
            const { opening: _, filesText: __, filesSalt: ___, file: ____, ...rest } = document.deletion
            document.deletion = rest
          }),
        /must be/,
      ],
      ['an event that attaches the file', () => forged({ [FILE]: fileText }), /attaches the file/],
      [
        'an event that deletes what another event attached',
        () => forged({ [FILE]: deletedFileText(FILE, other.txId) }),
        /another event attached/,
      ],
      [
        'an entry of another file',
        () => forged({ [FILE]: deletedFileText('another', attach.txId) }),
        /belongs to another file/,
      ],
      [
        'an entry that is not the committed one',
        () => {
          const document = forged({ [FILE]: deletedFileText(FILE, other.txId) })
          Object.assign(document.deletion['file'] ?? {}, { text: deletedFileText(FILE, attach.txId) })
          return document
        },
        /does not hash to the value/,
      ],
    ]
    for (const [rule, document, reason] of forgeries)
      it(`are rejected: ${rule}`, () => {
        const { ok, steps } = check(document())
        assert.equal(ok, false)
        const failed = steps.find(({ name, state }) => name === 'deletion' && state === 'failed')
        assert.match([failed, ...steps].map((step) => step?.reason).join('\n'), reason)
        assert.ok(failed)
      })

    it('are accepted if no rule is broken', () => {
      assert.equal(check(forged({ [FILE]: deletedFileText(FILE, attach.txId) })).ok, true)
    })

    it('are rejected: the deletion shown as the event that attached the file', () => {
      const swapped = edited((document) => {
        const { txId, opening, filesText, filesSalt, merkle, eventTimestamp } = deletionOf(deletion, deletionAt)
        Object.assign(document, { txId, opening, filesText, filesSalt, merkle, eventTimestamp })
      })
      assertFails(check(swapped), 'deletion', /another event attached/)
      const disclosed = { ...swapped, disclosure: deletion.disclosure }
      remove(disclosed, 'deletion')
      assertFails(check(disclosed), 'files', /deletes the file/)
    })

    it('are rejected: a deletion that is in the log before the attachment', () => {
      const made = new ForgedLog()
      const at = made.add(deletion.opening)
      const attachedAt = made.add(attach.opening)
      const document = forged({ [FILE]: deletedFileText(FILE, attach.txId) })
      document.deletion = { ...deletionOf(deletion, deletionAt), merkle: made.merkle(at) }
      document.merkle = made.merkle(attachedAt)
      assertFails(check(document), 'deletion', /before the event/)
    })

    it('are rejected: a deletion in the proof of no file', () => {
      assertFails(check(edited((document) => remove(document, 'fileId'))), 'deletion', /must be proven first/)
    })
  })

  describe('forged checkpoints', () => {
    it('are rejected: a key that was retired, or is not in the tree yet', () => {
      const newest = log.tree.size
      const at = (size: number, key: number): Members => ({
        txId: attach.txId,
        opening: attach.disclosure.opening,
        merkle: log.merkle(attachAt, size, log.checkpoint(size, { key })),
      })
      assert.equal(check(at(newest, 1)).ok, true)
      assert.equal(check(at(LATER, 0)).ok, true)
      assertFails(check(at(newest, 0)), 'checkpoint', /was retired/)
      assertFails(check(at(LATER, 1)), 'checkpoint', /signs trees from/)
    })

    it('ignore unknown signature lines, and may have extension lines', () => {
      const stranger = createNoteSigner('stranger', new Uint8Array(32).fill(77))
      const line = stranger.signNote('x\n').split('\n')[2] ?? ''
      const document = (text: string): Members => ({
        txId: attach.txId,
        opening: attach.disclosure.opening,
        merkle: log.merkle(attachAt, SIZE, text),
      })
      const own = log.checkpoint(SIZE, { key: 0 })
      assert.equal(check(document(`${own}${line}\n`)).ok, true)
      assert.equal(check(document(log.checkpoint(SIZE, { key: 0, extension: 'extension\n' }))).ok, true)
      // The stamped and anchored bytes are the note with the log's signature alone.
      const cosigned = edited(({ tsa, tsas, merkle }) => {
        for (const part of [tsa, ...tsas, merkle.anchor]) part.checkpoint = `${note}${line}\n`
      })
      assert.equal(check(cosigned).ok, true)
      const twice = `${own}${own.split('\n')[4] ?? ''}\n`
      assertFails(check(document(twice)), 'checkpoint', /more than one signature/)
      const forgedLine = line.replace('stranger', log.origin)
      assert.equal(check(document(`${own}${forgedLine}\n`)).ok, true, 'same name, other key id')
      assertFails(
        check(document(`${own.split('\n').slice(0, 4).join('\n')}\n${line}\n`)),
        'checkpoint',
        /No pinned key/,
      )
      const lines = own.split('\n')
      const damaged = [...lines.slice(0, 4), `${lines[4]?.slice(0, -8)}AAAAAAA=`, ''].join('\n')
      assertFails(check(document(damaged)), 'checkpoint', /does not verify/)
    })

    it('are rejected: a signed text that is not a checkpoint', () => {
      const [, , root = ''] = log.checkpoint(SIZE, { key: 0 }).split('\n')
      const signed = (text: string): Members => ({
        txId: attach.txId,
        opening: attach.disclosure.opening,
        merkle: log.merkle(attachAt, SIZE, present(log.keys[0]).signer.signNote(text)),
      })
      const texts: [text: string, reason: RegExp][] = [
        [`${log.origin}\n0${SIZE}\n${root}\n`, /without leading zeros/],
        [`${log.origin}\n${SIZE}\n${root}AAAA\n`, /base64 of 32 bytes/],
        [`${log.origin}\n${SIZE}\n${root}\n\nextension\n`, /no empty line/],
      ]
      assert.equal(check(signed(`${log.origin}\n${SIZE}\n${root}\n`)).ok, true)
      for (const [text, reason] of texts) assertFails(check(signed(text)), 'checkpoint', reason)
    })

    describe('with witnesses', () => {
      const seed = new Uint8Array(32).fill(5)
      const witness = createNoteSigner('witness', seed)
      const vkeyOf = (publicKey: Uint8Array): string => {
        const key = concatBytes(Uint8Array.of(4), publicKey)
        return `witness+${toHex(sha256Of(encodeUtf8('witness\n'), key).subarray(0, 4))}+${toBase64(key)}`
      }
      const vkey = vkeyOf(witness.publicKey)
      function cosigned(text: string, signed = text, seconds = 1_700_000_000): string {
        const time = new Uint8Array(8)
        new DataView(time.buffer).setBigUint64(0, BigInt(seconds))
        const body = signed.slice(0, signed.lastIndexOf('\n\n') + 1)
        const signature = witness.sign(encodeUtf8(`cosignature/v1\ntime ${seconds}\n${body}`))
        const keyId = sha256Of(encodeUtf8('witness\n'), Uint8Array.of(4), witness.publicKey).subarray(0, 4)
        return `${text}— witness ${toBase64(concatBytes(keyId, time, signature))}\n`
      }
      const witnesses = { threshold: 1, members: [{ name: 'w', vkey }] }
      const withWitness = { policy: { ...policy, witnesses } }
      const document = (checkpoint: string): Members => ({
        txId: attach.txId,
        opening: attach.disclosure.opening,
        merkle: log.merkle(attachAt, SIZE, checkpoint),
      })
      const own = log.checkpoint(SIZE, { key: 0 })

      it('need the cosignatures of the quorum', () => {
        const result = check(document(cosigned(own)), withWitness)
        assert.deepEqual(result.claims?.witnesses, [{ name: 'w', time: 1_700_000_000_000 }])
        assertFails(check(document(own), withWitness), 'witnesses', /Too few/)
        const forged = cosigned(own, log.checkpoint(LATER, { key: 0 }))
        assertFails(check(document(forged), withWitness), 'witnesses', /does not verify/)
        assertFails(check(document(cosigned(own, own, 0)), withWitness), 'witnesses', /not a time/)
        const lines = cosigned(own).split('\n')
        const short = [...lines.slice(0, 5), `${lines[5]?.slice(0, -8)}`, ''].join('\n')
        assertFails(check(document(short), withWitness), 'witnesses', /another length/)
      })

      it('count by the groups of a policy text', () => {
        const text = (quorum: string): string =>
          [
            `log ${log.pinned[0]?.vkey ?? ''}`,
            `witness w ${vkey} https://w.example`,
            `group all all w`,
            quorum,
            '',
          ].join('\n')
        assert.equal(check(document(cosigned(own)), { policy: parsePolicy(text('quorum all')) }).ok, true)
        assert.equal(check(document(own), { policy: parsePolicy(text('quorum all')) }).ok, false)
        assert.equal(check(document(own), { policy: parsePolicy(text('quorum none')) }).ok, true)
      })
    })
  })

  describe('forged anchors', () => {
    const found: [rule: string, change: object, reason: RegExp][] = [
      ['another chain', { chainId: 5 }, /another chain/],
      ['another account', { account: '0x1' }, /another account/],
      ['another checkpoint', { input: encodeUtf8('x') }, /another checkpoint/],
      ['another block', { blockHash: '0x1' }, /another block/],
      ['another height', { blockNumber: 8 }, /another block/],
      ['another block time', { blockTime: 7 }, /another time/],
    ]
    for (const [rule, change, reason] of found)
      it(`are rejected: ${rule}`, () =>
        assertFails(check(fileProof(), { findTransaction: () => ({ ...transaction, ...change }) }), 'anchor', reason))

    it('are rejected: a local ledger under the name of another chain', () => {
      const local = { ...policy, chains: [{ type: 'local', network: 'local', chainId: 0, account: 'ab' }] }
      assertFails(check(fileProof(), { policy: local }), 'anchor', /does not pin the chain/)
      for (const name of ['type', 'network'] as const) {
        const relabelled = edited(({ merkle, deletion: gone }) => {
          merkle.anchor[name] = 'local'
          gone.merkle.anchor[name] = 'local'
        })
        assertFails(check(relabelled), 'anchor', /does not pin the chain/)
      }
      assertFails(check(fileProof(), { findTransaction: () => undefined }), 'anchor', /does not hold the transaction/)
    })
  })

  describe('expectations and requirements', () => {
    it('fail if a required step did not run', () => {
      const event = edited((document) => {
        remove(document, 'fileId', 'deletion', 'filesText', 'filesSalt', 'tsa', 'tsas')
      })
      assert.equal(check(event).ok, true)
      for (const name of ['files', 'timestamp', 'witnesses', 'deletion', 'renewal', 'disclosure', 'expected'] as const)
        assertFails(check(event, { require: [name] }), name, /nothing to run|has no/)
      const { findTransaction: _, ...without } = OPTIONS
      assertFails(verifyProof(JSON.stringify(event), { ...without, require: ['anchor'] }), 'anchor', /findTransaction/)
    })

    it('fail for a valid proof of something else', () => {
      const disclosed = edited((document) => {
        remove(document, 'deletion')
        document['disclosure'] = attach.disclosure
      })
      const sha = toHex(sha256(content))
      for (const expect of [
        { txId: attach.txId },
        { fileId: FILE },
        { evidenceId: 'one' },
        { evidenceId: 'evidence-1' },
        { fileSha256: sha },
      ])
        assert.equal(check(disclosed, { expect }).ok, true, JSON.stringify(expect))
      for (const [expect, reason] of [
        [{ txId: other.txId }, /another event/],
        [{ fileId: 'another' }, /not for the file/],
        [{ evidenceId: 'two' }, /another evidence/],
        [{ fileSha256: 'a'.repeat(64) }, /another SHA-256/],
      ] as const)
        assertFails(check(disclosed, { expect }), 'expected', reason)
      assertFails(check(fileProof(), { expect: { evidenceId: 'one' } }), 'expected', /does not disclose which evidence/)
      assertFails(check(fileProof(), { expect: { fileSha256: sha } }), 'expected', /does not disclose the SHA-256/)
    })
  })

  describe('forged timestamps', () => {
    const withTokens = (tsa: Uint8Array, ...tokens: readonly Uint8Array[]): Document =>
      edited((document) => {
        remove(document, 'deletion')
        document.tsa = stated(tsa)
        document.tsas = tokens.map(stated)
      })
    const two = { policy: { ...policy, timestampQuorum: 2 } }

    it('are rejected: a token over another text counts for no quorum', async () => {
      const elsewhere = await tokenOf(signerB, { data: encodeUtf8(log.checkpoint(SIZE, { key: 0 })) })
      assertFails(check(withTokens(tokenA, tokenA, elsewhere), two), 'timestamp', /Expected 2/)
      assertFails(check(withTokens(elsewhere, elsewhere, tokenA)), 'timestamp', /imprint belongs to other data/)
    })

    it('are rejected: one authority twice, and a token that tsas lacks', async () => {
      const again = await tokenOf(await signerUnder(rootA, 'signer a2'))
      assertFails(check(withTokens(tokenA, tokenA, again), two), 'timestamp', /Expected 2/)
      assertFails(check(withTokens(tokenA, tokenB)), 'timestamp', /does not contain the token/)
      const stranger = await tokenOf(await signerUnder(await issuerNamed('stranger'), 'signer s'))
      assertFails(check(withTokens(stranger, stranger)), 'timestamp', /trust anchor/)
      assertFails(check(withTokens(tokenA, tokenA, stranger), two), 'timestamp', /Expected 2/)
    })

    it('are rejected: tokens of which a quorum is later than the shown time', async () => {
      const late = await tokenOf(signerB, { genTime: new Date('2026-06-01T12:30:00.000Z') })
      assertFails(check(withTokens(tokenA, tokenA, late), two), 'timestamp', /Expected 2/)
      assert.equal(check(withTokens(late, tokenA, late), two).ok, true)
    })

    it('are rejected: values that the token does not state', () => {
      for (const [name, value] of [
        ['genTime', new Date(7).toISOString()],
        ['serialNumber', '07'],
        ['policy', '1.2.3'],
        ['hashAlgorithm', 'sha512'],
        ['imprint', 'aa'],
      ] as const) {
        const document = withTokens(tokenA, tokenA)
        document.tsa[name] = value
        assertFails(check(document), 'timestamp', /another value|Expected 1/)
        const inList = withTokens(tokenA, tokenA, tokenB)
        present(inList.tsas[1])[name] = value
        assertFails(check(inList, two), 'timestamp', /Expected 2/)
      }
    })

    it('are rejected: a token that is shown under another checkpoint, or with other values in tsas', () => {
      for (const [name, value] of [
        ['checkpoint', log.checkpoint(SIZE, { key: 0 })],
        ['treeSize', SIZE],
        ['consistency', []],
      ] as const) {
        const second = withTokens(tokenA, tokenA, tokenB)
        present(second.tsas[1])[name] = value
        assertFails(check(second, two), 'timestamp', /Expected 2/)
        const first = withTokens(tokenA, tokenA, tokenB)
        present(first.tsas[0])[name] = value
        assertFails(check(first), 'timestamp', /does not contain the token/)
      }
      const misstated = withTokens(tokenA, tokenA)
      present(misstated.tsas[0])['serialNumber'] = '07'
      assertFails(check(misstated), 'timestamp', /another value/)
    })

    it('count each authority by its earliest token', async () => {
      const earlier = await tokenOf(signerA, { genTime: new Date('2026-06-01T11:00:00.000Z') })
      for (const tokens of [
        [tokenA, earlier],
        [earlier, tokenA],
      ]) {
        const timestamp = check(withTokens(tokenA, ...tokens)).claims?.timestamp
        assert.equal(timestamp?.authorities.length, 1)
        assert.equal(timestamp.notLaterThan, Date.parse('2026-06-01T11:00:00.000Z'))
      }
      // The second of two authorities decides, in any order of the tokens.
      const late = await tokenOf(signerB, { genTime: new Date('2026-06-01T11:30:00.000Z') })
      for (const tokens of [
        [earlier, late],
        [late, earlier],
      ])
        assert.equal(
          check(withTokens(late, ...tokens), two).claims?.notLaterThan,
          Date.parse('2026-06-01T11:30:00.000Z'),
        )
    })

    it('are rejected: tokens and pieces that are malformed or too many', async () => {
      const withPieces = (...pieces: readonly object[]): Document => {
        const document = withTokens(tokenA, tokenA)
        present(document.tsas[0])['evidence'] = pieces
        return document
      }
      const broken = withTokens(tokenA, tokenA)
      broken.tsa['token'] = '*'
      assertFails(check(broken), 'document', /The token is not base64/)
      for (const piece of [
        { type: 'other', data: '' },
        { type: 'crl', data: '*' },
      ])
        assertFails(check(withPieces(piece)), 'document', /must be a certificate, crl or ocsp in base64/)
      const pieces = Array.from({ length: 65 }, (_, i) => ({ type: 'ocsp', data: toBase64(Uint8Array.of(i)) }))
      assert.equal(check(withPieces(...pieces.slice(1))).ok, true)
      assertFails(check(withPieces(...pieces)), 'document', /more than 64 certificates, CRLs and OCSP responses/)
    })

    it('are verified with RSA-PSS signatures of the token, its certificate and a CRL', async () => {
      const root = await issuerNamed('pss root', undefined, 'RSA-PSS')
      const signer = await signerUnder(root, 'pss signer', 'RSA-PSS')
      const token = await tokenOf(signer)
      const der = await crl({ issuer: root })
      const pinned = { ...policy, authorities: [{ name: 'pss', trustAnchors: [derOf(root.certificate)] }] }
      const result = check(withTokens(token, token), { policy: pinned, validationData: [{ type: 'crl', der }] })
      assert.equal(result.claims?.timestamp?.authorities[0]?.revocation[0]?.state, 'good', JSON.stringify(result.steps))
      const position = Buffer.from(token).lastIndexOf(present(token.at(-1)))
      const damaged = token.with(position, present(token.at(-1)) ^ 1)
      assert.equal(check(withTokens(damaged, damaged), { policy: pinned }).ok, false)
    })

    it('are verified with intermediates from anywhere in the document', async () => {
      const middle = await issuerNamed('middle', rootA)
      const signer = await signerUnder(middle, 'signer below')
      const bare = await tokenOf(signer)
      assertFails(check(withTokens(bare, bare)), 'timestamp', /trust anchor/)
      const carrier = await tokenOf(signerB, { certificates: [signerB.certificate, middle.certificate] })
      assert.equal(check(withTokens(bare, bare, carrier)).ok, true)
      const kept = withTokens(bare, bare, tokenB)
      present(kept.tsas[1])['evidence'] = [{ type: 'certificate', data: toBase64(derOf(middle.certificate)) }]
      assert.equal(check(kept).ok, true)
      const own = [{ type: 'certificate', der: derOf(middle.certificate) }] as const
      assert.equal(check(withTokens(bare, bare), { validationData: own }).ok, true)
    })

    it('take the worst status of all CRLs and OCSP responses, in every order, and those of the caller', async () => {
      const at = new Date('2026-06-02T00:00:00Z')
      const revoked = (reason: number) =>
        crl({ issuer: rootA, revoked: [{ certificate: signerA.certificate, at, reason }] })
      const [compromised, superseded] = [await revoked(REASON.keyCompromise), await revoked(REASON.superseded)]
      const good = await ocspResponse({ issuer: rootA, certificate: signerA.certificate, state: 'good' })
      const shown = (...pieces: readonly object[]): Document => {
        const document = withTokens(tokenA, tokenA)
        present(document.tsas[0])['evidence'] = pieces
        return document
      }
      const [c, s, g] = [compromised, superseded, good].map((der, i) => ({
        type: i < 2 ? 'crl' : 'ocsp',
        data: toBase64(der),
      }))
      for (const pieces of [
        [c, s, g],
        [s, c, g],
        [g, s, c],
        [s, g, c],
      ])
        assertFails(check(shown(...pieces.map((piece) => present(piece)))), 'timestamp', /was revoked/)
      const harmless = check(shown(present(s), present(g)))
      assert.equal(harmless.claims?.timestamp?.authorities[0]?.revocation[0]?.state, 'revoked')
      assert.equal(check(shown(present(g))).claims?.timestamp?.authorities[0]?.revocation[0]?.state, 'good')
      const own = [{ type: 'crl', der: compromised }] as const
      assertFails(check(shown(present(g)), { validationData: own }), 'timestamp', /was revoked/)
    })

    it('are renewed by a later stamp over the token, and by nothing else', async () => {
      const renewing = new ForgedLog()
      for (const opening of log.openings.slice(1, LATER)) renewing.add(opening)
      const position = renewing.addToken(tokenA)
      const later = encodeUtf8(renewing.checkpoint())
      const stamp = async (genTime: string, data = later): Promise<object> => ({
        token: toBase64(await tokenOf(signerB, { data, genTime: new Date(genTime) })),
      })
      const at = new Date('2026-07-01T00:00:00Z')
      const der = await crl({
        issuer: rootA,
        revoked: [{ certificate: signerA.certificate, at, reason: REASON.keyCompromise }],
      })
      const pinned = { policy: { ...policy, keys: renewing.pinned } }
      const own = { ...pinned, validationData: [{ type: 'crl', der } as const] }
      const early = await stamp('2026-06-20T00:00:00Z')
      const renewed = (renewals: readonly object[]): Members => ({ ...withTokens(tokenA, tokenA), renewals })
      assertFails(check(renewed([]), own), 'timestamp', /was revoked/)
      assert.equal(check(renewed([renewing.renewal(tokenA, position, [early])]), own).ok, true)
      const late = await stamp('2026-07-20T00:00:00Z')
      assertFails(check(renewed([renewing.renewal(tokenA, position, [late])]), own), 'timestamp', /was revoked/)
      const broken: [Members, RegExp][] = [
        [renewing.renewal(tokenB, position, [early]), /does not cover the token/],
        [{ ...renewing.renewal(tokenA, position, [early]), leafIndex: 1 }, /does not cover the token/],
        [renewing.renewal(tokenA, position, [await stamp('2026-06-20T00:00:00Z', encodeUtf8(note))]), /other data/],
        [{ ...renewing.renewal(tokenA, position, [early]), treeSize: 2 }, /another size/],
        [renewing.renewal(tokenA, position, []), /Too few/],
      ]
      for (const [renewal, reason] of broken) {
        const result = check(renewed([renewal]), own)
        assert.match(result.steps.find(({ name }) => name === 'renewal')?.reason ?? '', reason)
        assert.equal(result.ok, false)
      }
      // An invalidity date before the renewal: the key was compromised when the later stamp was made.
      const invalidity = extension(
        '2.5.29.24',
        false,
        new asn1js.GeneralizedTime({ valueDate: new Date('2026-06-10T00:00:00Z') }),
      )
      const earlier = await crl({
        issuer: rootA,
        revoked: [{ certificate: signerA.certificate, at, reason: REASON.keyCompromise, extensions: [invalidity] }],
      })
      const honest = renewed([renewing.renewal(tokenA, position, [early])])
      assertFails(
        check(honest, { ...pinned, validationData: [{ type: 'crl', der: earlier }] }),
        'timestamp',
        /was revoked/,
      )
      // The certificate was superseded before the token was made. A compromise after the renewal does not hide that.
      const superseded = await crl({
        issuer: rootA,
        revoked: [
          { certificate: signerA.certificate, at: new Date('2026-05-20T00:00:00Z'), reason: REASON.superseded },
        ],
      })
      for (const lists of [
        [superseded, der],
        [der, superseded],
      ]) {
        const validationData = lists.map((list) => ({ type: 'crl', der: list }) as const)
        assertFails(check(honest, { ...pinned, validationData }), 'timestamp', /was revoked/)
      }
    })

    it('of a deletion are limited apart from those of the event', async () => {
      const tokens: Uint8Array[] = []
      for (let i = 0; i <= 2 * MAX_TOKENS; i++) tokens.push(await tokenOf(signerA, { policy: `1.3.${i}` }))
      const shown = tokens.map(stated)
      const stamped = (deletionTokens: readonly Record<string, unknown>[]): ProofResult =>
        check(
          edited((document) => {
            Object.assign(document, { tsa: shown[0], tsas: shown.slice(0, MAX_TOKENS) })
            Object.assign(document.deletion, { tsa: deletionTokens[0], tsas: deletionTokens })
          }),
        )
      const both = stamped(shown.slice(MAX_TOKENS, 2 * MAX_TOKENS))
      assert.equal(both.ok, true, JSON.stringify(both.steps))
      assert.equal(both.work.tokens, 2 * MAX_TOKENS)
      assert.equal(stamped(shown.slice(0, MAX_TOKENS)).work.tokens, MAX_TOKENS)
      assertFails(stamped(shown.slice(MAX_TOKENS)), 'document', /more than 8 tokens/)
    })

    it('cost at most so many tokens and signature checks', async () => {
      const tokens: Uint8Array[] = []
      for (let i = 0; i <= MAX_TOKENS; i++) tokens.push(await tokenOf(signerA, { policy: `1.2.${i}` }))
      const [first = tokenA] = tokens
      const most = check(withTokens(first, ...tokens.slice(0, MAX_TOKENS)))
      assert.equal(most.ok, true)
      assert.equal(most.work.tokens, MAX_TOKENS)
      // Three checkpoints, of which two are the same, one signature of each token, and one of the certificate.
      const necessary = 2 + MAX_TOKENS + 1
      assert.equal(most.work.signatureChecks, necessary)
      assertFails(check(withTokens(first, ...tokens)), 'document', /more than 8 tokens/)
      // Each list costs a check for each certificate that it may be about.
      const lists = await Promise.all(
        Array.from({ length: 2 * MAX_SIGNATURE_CHECKS }, (_, i) =>
          crl({ issuer: rootA, thisUpdate: new Date(i * 1_000) }),
        ),
      )
      const validationData = lists.map((der) => ({ type: 'crl', der }) as const)
      // A list counts once, however many tokens need it.
      const honest = check(withTokens(first, ...tokens.slice(0, MAX_TOKENS)), {
        validationData: validationData.slice(0, 25),
      })
      assert.equal(honest.ok, true)
      assert.equal(honest.work.signatureChecks, necessary + 25)
      const result = check(withTokens(tokenA, tokenA), { validationData })
      assert.equal(result.work.signatureChecks, 2 * MAX_SIGNATURE_CHECKS)
      assertFails(result, 'timestamp', /more than 80 signature checks/)
    })
  })
})
